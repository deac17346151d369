"""A learned patcher whose patches come in random order: what the order of a patch is worth."""

import torch
from torch import Tensor

from herofilter.patchers.learned import LearnedPatcher
from herofilter.patchers.patches import EGO, Patches, Slot


class ShuffledPatcher(LearnedPatcher):
    """Another learned patcher, with the members of each patch in a random order.

    Members, scores, gradients and summaries are those of the other patcher; only the columns
    differ, by node. The order is drawn anew whenever members are chosen again, always the same
    for the same seed and number of choices. A node in slot 0 and padding stay where they are.

    Args:
        patcher: the patcher that chooses and scores.
        seed: of the order.

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.patchers import PolynomialPatcher
        >>> ranked = PolynomialPatcher(csbm(num_nodes=100), patch_size=8)
        >>> shuffled = ShuffledPatcher(ranked, seed=0)
        >>> bool((shuffled().index.sort(1).values == ranked().index.sort(1).values).all())
        True
    """

    columns: Tensor
    count: Tensor

    def __init__(self, patcher: LearnedPatcher, seed: int = 0) -> None:
        super().__init__()
        self.patcher, self.seed = patcher, seed
        self.patch_size, self.names, self.frozen = patcher.patch_size, patcher.names, patcher.frozen
        p, start = patcher.patch_size, int(patcher.slots[0].name == EGO)
        # members of all filters mix, so that only the node itself keeps a slot of its own
        self.slots = (Slot(EGO, 0, 1),) * start + (Slot("patch", start, p),) * (p > start)
        self.register_buffer("columns", torch.arange(p).repeat(patcher.num_nodes, 1))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self._shuffle()

    @property
    def index(self) -> Tensor:  # type: ignore[override]
        """The chosen nodes in their random order, ``[n, p]``."""
        return self.patcher.index.gather(1, self.columns)

    @property
    def num_nodes(self) -> int:
        return self.patcher.num_nodes

    def reset_parameters(self) -> None:
        self.patcher.reset_parameters()
        self.count.zero_()
        self._shuffle()

    def refresh(self) -> None:
        self.patcher.refresh()
        self.count += 1
        self._shuffle()

    def restore(self) -> None:
        self.patcher.restore()
        self._shuffle()

    def align(self, labels: Tensor) -> None:
        self.patcher.align(labels)
        self._shuffle()

    def curves(self) -> tuple[Tensor, dict[str, Tensor]]:
        return self.patcher.curves()

    def start_curves(self, labels: Tensor) -> dict[str, Tensor]:
        return self.patcher.start_curves(labels)

    def forward(self, nodes: Tensor | None = None) -> Patches:
        ranked: Patches = self.patcher(nodes)
        found = ranked.reordered(self.columns if nodes is None else self.columns[nodes])
        return Patches(found.index, found.score, found.nodes, self.slots, found.num_nodes)

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        return self.patcher.summarise(hidden, nodes)

    @torch.no_grad()
    def _shuffle(self) -> None:
        ranked: Patches = self.patcher()
        # a different order for every choice, the same one in every run
        self.columns.copy_(ranked.random_columns(1000 * self.seed + int(self.count)))
