"""The base of patchers that learn their filters."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from herofilter.patchers.patches import EGO, Patches, Slot

SNAPSHOT_POINTS = 41


class LearnedPatcher(nn.Module, ABC):
    """A patcher of one graph whose filters training adapts.

    A model asks it for patches and for the filters' full responses, and tells it when to choose
    the patch members again.

    Attributes:
        patch_size: p, the node itself included.
        slots: which columns of a patch each filter fills.
        names: of the filters, of which some may have no columns.
        index: the chosen nodes, ``[n, p]``.
        frozen: whether the patches stay as they are while a model trains.
        refresh_seconds: how long the last choice took, where that is worth knowing.
    """

    patch_size: int
    slots: tuple[Slot, ...]
    names: tuple[str, ...]
    index: Tensor
    frozen = False
    refresh_seconds = 0.0

    @property
    def num_nodes(self) -> int:
        """The number of nodes of the graph."""
        return self.index.size(0)

    @property
    def num_summaries(self) -> int:
        """The number of filters, each of which gives a summary."""
        return len(self.names)

    def _all_nodes(self) -> Tensor:
        return torch.arange(self.num_nodes, device=self.index.device)

    @abstractmethod
    def reset_parameters(self) -> None:
        """Put every filter back to its start and choose the patches again."""

    @abstractmethod
    def refresh(self) -> None:
        """Choose the patch members with the filters as they are now."""

    def restore(self) -> None:
        """Choose the patch members as they were, after weights were loaded."""
        self.refresh()

    def align(self, labels: Tensor) -> None:
        """Start from known labels what is to start from them; -1 for those that may not be read."""

    @abstractmethod
    def curves(self) -> tuple[Tensor, dict[str, Tensor]]:
        """Return eigenvalues (or singular values), ascending, and each learned filter's response.

        Shapes:
            - output: ``[e]``, and ``[e]`` for every filter by its name
        """

    def start_curves(self, labels: Tensor) -> dict[str, Tensor]:
        """Return the responses from which training starts, at the same values as :meth:`curves`.

        ``labels`` are the known ones, -1 for others. Empty for filters that training leaves alone.
        """
        return {}

    @torch.no_grad()
    def snapshot(self) -> dict[str, list[float]]:
        """Return the responses of :meth:`curves` at 41 of its values, :func:`thinned`."""
        values, responses = self.curves()
        kept = thinned(values.numel(), SNAPSHOT_POINTS)
        return {name: response.cpu()[kept].tolist() for name, response in responses.items()}

    @abstractmethod
    def forward(self, nodes: Tensor | None = None) -> Patches:
        """Return the patches of ``nodes`` with scores that carry gradients."""

    @abstractmethod
    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        r"""Return the full response :math:`\mathbf{R}\mathbf{H}` of each filter at ``nodes``.

        Shapes:
            - hidden: ``[n, h]``, of all nodes
            - output: ``[number of filters, b, h]``
        """


def thinned(count: int, most: int) -> Tensor:
    """Return at most so many positions of ``count``, evenly spread, both ends kept.

    Example:
        >>> thinned(9, 3), thinned(2, 5)
        (tensor([0, 4, 8]), tensor([0, 1]))
    """
    points = min(count, most)
    return torch.linspace(0, max(count - 1, 0), points).round().long()


def share_slots(patch_size: int, names: Sequence[str], ego_first: bool) -> tuple[Slot, ...]:
    """Return the slots of a patch: the node's own, if it has one, then equal shares by name.

    A name for which no column is left has no slot.

    Example:
        >>> [tuple(slot) for slot in share_slots(4, ["low", "high"], ego_first=True)]
        [('ego', 0, 1), ('low', 1, 3), ('high', 3, 4)]
    """
    start = int(ego_first)
    share, rest = divmod(patch_size - start, len(names))
    slots = [Slot(EGO, 0, 1)] if ego_first else []
    for position, name in enumerate(names):
        stop = start + share + int(position < rest)
        if stop > start:
            slots.append(Slot(name, start, stop))
        start = stop
    return tuple(slots)
