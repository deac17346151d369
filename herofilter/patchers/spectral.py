"""The learned patcher: node pairs scored by a spectral filter that training adapts."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.errors import ConfigError, check_choice
from herofilter.patchers.patches import Patches, Slot
from herofilter.spectral import (
    AdaptiveFilter,
    Filter,
    cached_eigenbasis,
    dense_scores,
    normalised_adjacency,
    sampled_scores,
    top_p,
)

_BLOCK_BYTES = 256 * 2**20


class SpectralPatcher(nn.Module):
    r"""Pick for every node its top-p nodes under :math:`\mathbf{R} = \mathbf{U}\,
    g(\mathbf{\Lambda})\,\mathbf{U}^\top`.

    The choice is made for all nodes by :meth:`refresh`, in blocks of rows, and stays until the
    next refresh. The scores of the chosen entries are computed at every call and carry
    gradients, so that the filter's weights learn. Several filters share one patch, each with
    its own slots. Scores are ranked with their sign; a score that is zero up to rounding is never
    chosen, so a row may end in padding.

    Args:
        data: the graph.
        patch_size: p, the node itself included.
        filters: one filter or several; the paper's adaptive polynomial by default.
        num_eigenpairs: keep so many eigenvalues of largest modulus; None keeps all.
        self_loops: whether Ã has self-loops.
        ego: ``first`` puts the node itself into slot 0; ``ranked`` lets it compete.

    Example:
        >>> from herofilter.data import csbm
        >>> patcher = SpectralPatcher(csbm(num_nodes=100), patch_size=8)
        >>> patcher().index.shape
        torch.Size([100, 8])
    """

    vectors: Tensor
    eigenvalues: Tensor
    index: Tensor

    def __init__(
        self,
        data: Data,
        patch_size: int = 16,
        filters: Filter | Sequence[Filter] | None = None,
        num_eigenpairs: int | None = None,
        self_loops: bool = True,
        ego: str = "first",
    ) -> None:
        super().__init__()
        check_choice("ego", ego, ("first", "ranked"))
        n = int(data.num_nodes or 0)
        if not 1 <= patch_size <= n:
            raise ConfigError(
                "patch_size must be between 1 and the number of nodes "
                f"(got {patch_size}; the graph has {n} nodes)"
            )
        if filters is None:
            filters = AdaptiveFilter()
        self.filters = tuple(filters) if isinstance(filters, Sequence) else (filters,)
        self.patch_size = patch_size
        self.ego_first = ego == "first"
        self.slots = self._make_slots()
        matrix = normalised_adjacency(
            data.edge_index, n, data.get("edge_weight"), self_loops=self_loops
        )
        basis = cached_eigenbasis(matrix, num_eigenpairs)
        self.register_buffer("vectors", basis.vectors, persistent=False)
        self.register_buffer("eigenvalues", basis.eigenvalues, persistent=False)
        self.register_buffer("index", torch.full((n, patch_size), -1), persistent=True)
        self.weights = nn.ParameterList(
            nn.Parameter(kind.initial_weights(self.eigenvalues)) for kind in self.filters
        )
        self.refresh()

    @property
    def num_nodes(self) -> int:
        """The number of nodes of the graph."""
        return self.index.size(0)

    def reset_parameters(self) -> None:
        """Put every filter back to its start and choose the patches anew."""
        with torch.no_grad():
            for kind, weight in zip(self.filters, self.weights, strict=True):
                weight.copy_(kind.initial_weights(self.eigenvalues))
        self.refresh()

    def responses(self) -> list[Tensor]:
        """Return each filter's response on the graph's own eigenvalues."""
        return [
            kind.response(self.eigenvalues, weight)
            for kind, weight in zip(self.filters, self.weights, strict=True)
        ]

    @torch.no_grad()
    def refresh(self) -> None:
        """Choose the patch members with the filters as they are now."""
        n = self.num_nodes
        if self.ego_first:
            self.index[:, 0] = torch.arange(n)
        rows = max(1, _BLOCK_BYTES // (4 * n))
        for slot, response in self._filled():
            for start in range(0, n, rows):
                nodes = torch.arange(start, min(start + rows, n))
                scores = _rounded(dense_scores(self.vectors, response, nodes))
                if self.ego_first:
                    scores[torch.arange(nodes.numel()), nodes] = -torch.inf
                score, index = top_p(scores, slot.stop - slot.start)
                index[torch.isinf(score)] = -1
                self.index[nodes, slot.start : slot.stop] = index

    def forward(self, nodes: Tensor | None = None) -> Patches:
        """Return the patches of ``nodes`` with scores that carry gradients."""
        rows = torch.arange(self.num_nodes) if nodes is None else nodes
        index = self.index[rows]
        parts = [torch.ones(rows.numel(), 1)] if self.ego_first else []
        for slot, response in self._filled():
            chosen = index[:, slot.start : slot.stop].contiguous()
            parts.append(sampled_scores(self.vectors, response, rows, chosen))
        return Patches(
            index=index,
            score=torch.cat(parts, dim=1),
            nodes=rows,
            slots=self.slots,
            num_nodes=self.num_nodes,
        )

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        r"""Return the full response :math:`\mathbf{R}\mathbf{H}` of each filter at ``nodes``.

        The response is scaled to a largest modulus of one, so that filters are comparable.

        Shapes:
            - **hidden**: [n, h], of all nodes
            - **returns**: [number of filters, b, h]
        """
        spectrum = self.vectors.t() @ hidden
        left = self.vectors if nodes is None else self.vectors[nodes]
        parts = []
        for response in self.responses():
            scale = response.abs().amax().clamp(min=1e-12)
            parts.append(left @ (spectrum * (response / scale).unsqueeze(1)))
        return torch.stack(parts)

    def _filled(self) -> Iterator[tuple[Slot, Tensor]]:
        """Yield the slot and the response of each filter that has room in the patch."""
        slots = {slot.name: slot for slot in self.slots}
        for number, response in enumerate(self.responses()):
            if f"filter-{number}" in slots:
                yield slots[f"filter-{number}"], response

    def _make_slots(self) -> tuple[Slot, ...]:
        start = int(self.ego_first)
        share, rest = divmod(self.patch_size - start, len(self.filters))
        slots = [Slot("ego", 0, 1)] if self.ego_first else []
        for number in range(len(self.filters)):
            stop = start + share + int(number < rest)
            if stop > start:
                slots.append(Slot(f"filter-{number}", start, stop))
            start = stop
        return tuple(slots)


def _rounded(scores: Tensor) -> Tensor:
    """Return scores relative to their row's largest, in steps that hide rounding errors.

    Scores that are equal on paper become equal, so that ties are settled by node number, and
    those that are zero on paper become minus infinity.
    """
    scores = scores / scores.abs().amax(1, keepdim=True).clamp(min=1e-30)
    scores = scores.mul_(2**18).round_()
    return scores.masked_fill_(scores == 0, -torch.inf)
