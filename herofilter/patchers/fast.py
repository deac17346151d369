"""The patcher of Fast-HeroFilter: the top-p nodes by a diffusion from each node."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import ConfigError, GraphError, check_choice
from herofilter.patchers.patches import Patches, Slot
from herofilter.patchers.push import push_top
from herofilter.patchers.series import BLOCK_BYTES, num_steps, series_top
from herofilter.patchers.two_steps import two_steps_top
from herofilter.settings import check_relations
from herofilter.spectral.adjacency import DIRECTED_RULES, adjacency, normalise
from herofilter.spectral.memory import check_memory

METHODS = ("auto", "series", "push")
EGO_RULES = ("first", "ranked")
BACKWARDS = ("in", "cocitation")
TWO_STEPS = ("coreference", "cocitation")
SERIES_WORK = 3e9


@dataclass(frozen=True)
class FastPatcher:
    r"""Choose for each node the ``patch_size`` nodes that a diffusion from it reaches most.

    .. math::
        \mathbf{r}_v = (1 - c) \sum_{k \ge 0} c^k \tilde{\mathbf{A}}^k \mathbf{e}_v

    With ``directed="keep"`` the walks follow out-edges: row :math:`v` of the same series in
    :math:`\mathbf{D}_{out}^{-1/2} \mathbf{A} \mathbf{D}_{in}^{-1/2}`. Mass at a node without
    out-edges stops there. Returning it to the seed, as some tools do, would multiply the whole row
    by one factor: the same ranking and the same scores once they are normalised.

    Equal scores are ordered by node id, and the result doesn't depend on the number of threads.
    Nodes that a walk can't reach never enter a patch; short rows end in padding.

    Args:
        patch_size: columns :math:`p` of a patch, the ego node included.
        c: how far the diffusion reaches, from 0 (the node alone) to just below 1.
        method: ``"series"`` sums the series exactly for all nodes at once, ``"push"`` walks from
            each node as far as needed; ``"auto"`` takes the series where it is cheap.
        tolerance: the series ends when :math:`c^{K+1}` is at most this; push leaves mass waiting at
            :math:`u` when it is at most this times the degree of :math:`u` (in mean edge weights).
        self_loops: give every node an edge to itself.
        directed: ``"symmetrise"`` forgets the direction of edges, ``"keep"`` follows it.
        ego: ``"first"`` puts the node itself in column 0, ``"ranked"`` lets it compete.
        relations: what fills the patch, each with a slot of its own and an equal share of the
            columns. ``out`` is the series above and ``in`` the same against the edges;
            ``coreference`` are the largest entries of :math:`\mathbf{N}\mathbf{N}^\top`, nodes that
            point to the same nodes, and ``cocitation`` those of :math:`\mathbf{N}^\top\mathbf{N}`,
            nodes that the same nodes point to. Neither product is ever made.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> FastPatcher(patch_size=2)(path).index.tolist()
        [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    patch_size: int = 16
    c: float = 0.5
    method: str = "auto"
    tolerance: float = 1e-5
    self_loops: bool = True
    directed: str = "symmetrise"
    ego: str = "first"
    relations: tuple[str, ...] = ("out",)

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("directed", self.directed, DIRECTED_RULES)
        check_choice("ego", self.ego, EGO_RULES)
        check_relations(self.relations)
        if self.patch_size < 1:
            raise ConfigError(f"patch_size must be at least 1 (got {self.patch_size})")
        if not 0 <= self.c < 1:
            raise ConfigError(f"c must be at least 0 and below 1 (got {self.c})")
        if not 0 < self.tolerance < 1:
            raise ConfigError(f"tolerance must be above 0 and below 1 (got {self.tolerance})")

    def __call__(
        self,
        data: Data,
        nodes: Tensor | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Patches:
        """Return the patches of ``nodes`` (ids or a mask; all by default).

        ``progress(done, total)`` is called after each chunk of nodes.
        """
        n = int(data.num_nodes)
        if self.patch_size > n:
            raise ConfigError(
                "patch_size must be between 1 and the number of nodes "
                f"(got {self.patch_size}; the graph has {n} node{'' if n == 1 else 's'})"
            )
        if nodes is None:
            nodes = torch.arange(n)
        elif nodes.dtype == torch.bool:
            nodes = nodes.nonzero().flatten()
        nodes = nodes.to(torch.int64)
        if nodes.numel() and (int(nodes.min()) < 0 or int(nodes.max()) >= n):
            raise GraphError(
                f"nodes must be between 0 and {n - 1} "
                f"(got {int(nodes.min())} to {int(nodes.max())})"
            )
        check_memory(
            self.memory(n, int(data.edge_index.size(1))),
            f"patches of {n} nodes",
            "use a smaller patch_size",
        )
        matrix = adjacency(
            data.edge_index,
            n,
            data.edge_weight,
            self_loops=self.self_loops,
            directed=self.directed,
        )
        ids = nodes.numpy()
        parts = []
        for number, (name, width) in enumerate(self._widths()):
            report = None if progress is None else _share(progress, number, len(self._widths()))
            index, score = self._relation(matrix, name, ids, width, report)
            parts.append(
                Patches(
                    torch.from_numpy(index),
                    torch.from_numpy(score),
                    nodes,
                    self._slots(name, width),
                    num_nodes=n,
                )
            )
        return Patches.join(parts, [name for name, _ in self._widths()])

    def _relation(
        self,
        matrix: sp.csr_array,
        relation: str,
        nodes: np.ndarray,
        patch_size: int,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        ego_first = self.ego == "first"
        if relation in BACKWARDS:
            matrix = sp.csr_array(matrix.T)
        if relation in TWO_STEPS:
            normal = normalise(matrix)
            return two_steps_top(normal, nodes, patch_size, self.tolerance, ego_first, progress)
        settings = (patch_size, self.c, self.tolerance, ego_first, progress)
        if self._uses_series(matrix.shape[0], matrix.nnz):
            return series_top(normalise(matrix), nodes, *settings)
        return push_top(matrix, nodes, *settings)

    def memory(self, num_nodes: int, num_edges: int) -> int:
        """Return about how many bytes a call needs at its peak, the patches included.

        Example:
            >>> FastPatcher(patch_size=32).memory(169_343, 1_166_243) < 2**30
            True
        """
        entries = num_edges * (2 if self.directed == "symmetrise" else 1) + num_nodes
        patches = num_nodes * self.patch_size * 12
        # the edge list, its copies on the way to the matrix, and the matrix to work on
        matrices = 5 * 16 * entries
        if self._uses_series(num_nodes, entries):
            work = min(BLOCK_BYTES, 4 * 8 * num_nodes * num_nodes)
        else:
            work = torch.get_num_threads() * 24 * num_nodes
        return patches + matrices + work

    def _uses_series(self, num_nodes: int, num_entries: int) -> bool:
        # by the whole graph, never by the nodes asked for: a subset must equal rows of the whole
        work = num_nodes * num_entries * max(1, num_steps(self.c, self.tolerance))
        return self.method == "series" or (self.method == "auto" and work <= SERIES_WORK)

    def _widths(self) -> list[tuple[str, int]]:
        """Return the relations that have room in the patch, and their columns with the ego's."""
        ego = int(self.ego == "first")
        share, rest = divmod(self.patch_size - ego, len(self.relations))
        sizes = [share + int(number < rest) for number in range(len(self.relations))]
        named = [(name, size + ego) for name, size in zip(self.relations, sizes, strict=True)]
        return [entry for entry in named if entry[1] > ego] or named[:1]

    def _slots(self, name: str, width: int) -> tuple[Slot, ...]:
        if self.ego == "ranked":
            return (Slot(name, 0, width),)
        return (Slot("ego", 0, 1), Slot(name, 1, width))[: min(2, width)]


def _share(
    progress: Callable[[int, int], None], number: int, count: int
) -> Callable[[int, int], None]:
    return lambda done, total: progress(number * total + done, count * total)
