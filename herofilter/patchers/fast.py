"""The patcher of Fast-HeroFilter: the top-p nodes by a diffusion from each node."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback, part_of
from herofilter.errors import ConfigError, GraphError, check_choice
from herofilter.memory import check_memory
from herofilter.patchers.forms import Form, make_form
from herofilter.patchers.patches import EGO, Patches, Slot
from herofilter.patchers.polynomial.relation import PageRank, polynomial_relation
from herofilter.patchers.ppr.push_table import uses_table
from herofilter.patchers.ppr.series import BLOCK_BYTES, num_steps
from herofilter.patchers.relations import (
    Found,
    Relation,
    SeriesRelation,
    TwoHopRelation,
)
from herofilter.settings import check_relations
from herofilter.spectral.adjacency import DIRECTED_RULES, adjacency_matrix

METHODS = ("auto", "series", "push")
EGO_RULES = ("first", "ranked")
TRANSPOSED = ("in", "cocitation")
TWO_HOP = ("coreference", "cocitation")
SERIES_WORK = 3e9


@dataclass(frozen=True)
class FastPatcher:
    r"""Choose for each node the ``patch_size`` nodes that a diffusion from it reaches most.

    .. math::
        \mathbf{r}_v = (1 - c) \sum_{k \ge 0} c^k \tilde{\mathbf{A}}^k \mathbf{e}_v

    With ``directed="keep"`` the diffusion follows out-edges: row :math:`v` of the same series in
    :math:`\mathbf{D}_{out}^{-1/2} \mathbf{A} \mathbf{D}_{in}^{-1/2}`. Mass at a node without
    out-edges stops there. Returning it to the seed, as some tools do, would multiply the row
    by one factor: the same ranking and the same scores once they are normalised.

    Equal scores are ordered by node id, and the result doesn't depend on the number of threads.
    Nodes that can't be reached never enter a patch; short rows end in padding.

    Args:
        patch_size: columns :math:`p` of a patch, the ego node included.
        c: how far the diffusion reaches, from 0 (the node alone) to just below 1.
        method: ``"series"`` sums the series exactly for blocks of nodes, ``"push"`` approximates
            each row by local push; ``"auto"`` takes the series where it is cheap and ``refine``
            is 0.
        tolerance: the series ends when :math:`c^{K+1}` is at most this; push leaves mass waiting at
            :math:`u` when it is at most this times the degree of :math:`u` (in mean edge weights).
        self_loops: give every node an edge to itself.
        directed: ``"symmetrise"`` forgets the direction of edges, ``"keep"`` follows it.
        ego: ``"first"`` puts the node itself in column 0, ``"ranked"`` lets it compete.
        relations: what fills the patch; each has a separate slot and an equal share of the
            columns. ``out`` is the series above and ``in`` the same against the edges;
            ``coreference`` are the largest entries of :math:`\mathbf{N}\mathbf{N}^\top`, nodes that
            point to the same nodes, and ``cocitation`` those of :math:`\mathbf{N}^\top\mathbf{N}`,
            nodes that the same nodes point to. Neither product is ever computed in full.
        refine: how many edges push may read for a row until its choice is certified: no node left
            out exceeds the last one chosen by more than ``margin``. Such rows are also filled as
            far as nodes can be reached. 0 stops at the tolerance.
        margin: relative; see ``refine``.
        filters: coefficients :math:`\theta_0, \dots, \theta_K` of polynomials
            :math:`\sum_k \theta_k T_k(\tilde{\mathbf{A}})` of the undirected graph, each of which
            fills a slot ``filter-0``, ``filter-1``, … after those of the relations.
        hub_limit: ``coreference`` and ``cocitation`` skip shared neighbours with more edges;
            0 for 1 / ``tolerance``, which misses no score above the tolerance.

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
    refine: int = 0
    margin: float = 0.01
    hub_limit: int = 0
    filters: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("directed", self.directed, DIRECTED_RULES)
        check_choice("ego", self.ego, EGO_RULES)
        if self.relations or not self.filters:
            check_relations(self.relations)
        if self.patch_size < 1:
            raise ConfigError(f"patch_size must be at least 1 (got {self.patch_size})")
        if not 0 <= self.c < 1:
            raise ConfigError(f"c must be at least 0 and below 1 (got {self.c})")
        if not 0 < self.tolerance < 1:
            raise ConfigError(f"tolerance must be above 0 and below 1 (got {self.tolerance})")
        for name in ("refine", "margin", "hub_limit"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} must not be negative (got {getattr(self, name)})")

    def __call__(
        self,
        data: Data,
        nodes: Tensor | None = None,
        callback: Callback | None = None,
    ) -> Patches:
        """Return the patches of ``nodes`` (ids or a mask; all by default).

        ``callback`` takes an event of stage ``rows`` after each chunk of nodes.
        """
        return self.prepare(data)(nodes, callback)

    def check(self, data: Data) -> None:
        """Raise an error if a graph has too few nodes for a patch, or the memory is too small."""
        n = int(data.num_nodes)
        if self.patch_size > n:
            raise ConfigError(
                "patch_size must be between 1 and the number of nodes "
                f"(got {self.patch_size}; the graph has {n} node{'' if n == 1 else 's'})"
            )
        check_memory(
            self.memory(n, int(data.edge_index.size(1))),
            f"patches of {n} nodes",
            "use a smaller patch_size",
        )

    def prepare(self, data: Data) -> "PreparedPatcher":
        """Return the patcher with the graph's matrices computed, for calls on subsets of nodes."""
        return self.on_forms(int(data.num_nodes), self.forms(data))

    def forms(self, data: Data) -> dict[str, Form]:
        """Return the arrays that each slot is computed from; slots may share them."""
        n = int(data.num_nodes)
        self.check(data)
        names = filter_names(len(self.filters))
        found: dict[str, Form] = {}
        matrices: dict[str, sp.csr_array] = {}
        made: dict[tuple[str, str, bool], Form] = {}
        for name, _ in self._widths():
            directed = "symmetrise" if name in names else self.directed
            if directed not in matrices:
                matrices[directed] = adjacency_matrix(
                    data.edge_index,
                    n,
                    data.edge_weight,
                    self_loops=self.self_loops,
                    directed=directed,
                )
            matrix, kind = matrices[directed], "push"
            if name in TWO_HOP:
                kind = "two-hop"
            elif name not in names and self._uses_series(n, matrix.nnz):
                kind = "series"
            key = (kind, directed, name in TRANSPOSED)
            if key not in made:
                turned = sp.csr_array(matrix.T) if name in TRANSPOSED else matrix
                made[key] = make_form(kind, turned, self.refine)
            found[name] = made[key]
        return found

    def on_forms(self, num_nodes: int, forms: Mapping[str, Form]) -> "PreparedPatcher":
        """Return the patcher on arrays that :meth:`forms` made, perhaps in another process."""
        parts = [(name, width, self._relation(name, forms[name])) for name, width in self._widths()]
        return PreparedPatcher(num_nodes, parts, self)

    def _relation(self, name: str, form: Form) -> Relation:
        ego_first, names = self.ego == "first", filter_names(len(self.filters))
        if form.kind == "two-hop":
            limit = self.hub_limit or int(min(1 / self.tolerance, 2**62))
            return TwoHopRelation(form.arrays, limit, ego_first)
        if form.kind == "series":
            return SeriesRelation(form.matrix, self.c, self.tolerance, ego_first)
        ranked: PageRank | np.ndarray = PageRank(self.c)
        eps: float | None = self.tolerance
        if name in names:
            ranked, eps = np.array(self.filters[names.index(name)]), None
        return polynomial_relation(
            form.push_graph,
            ranked,
            eps=eps,
            ego_first=ego_first,
            refine=self.refine,
            margin=self.margin,
            ends=form.arrays.get("ends"),
            files=form.files,
        )

    def memory(self, num_nodes: int, num_edges: int) -> int:
        """Estimate the peak memory of a call in bytes, the patches included.

        Example:
            >>> FastPatcher(patch_size=32).memory(169_343, 1_166_243) < 2**30
            True
        """
        entries = num_edges * (2 if self.directed == "symmetrise" else 1) + num_nodes
        # measured: patches while they are joined, and the copies of the edges while the matrix is
        # built, of which each further relation keeps another one
        patches = 2 * num_nodes * self.patch_size * 12
        matrices = (5 + 2 * (len(self._widths()) - 1)) * 16 * (num_edges + num_nodes)
        if self._uses_series(num_nodes, entries):
            work = min(BLOCK_BYTES, 4 * 8 * num_nodes * num_nodes)
        elif uses_table(num_nodes, self.refine):
            work = 8 * entries
        else:
            work = torch.get_num_threads() * 24 * num_nodes
        return patches + matrices + work

    def _uses_series(self, num_nodes: int, num_entries: int) -> bool:
        # by the graph, never by the nodes asked for: rows of a subset must equal those of all nodes
        work = num_nodes * num_entries * max(1, num_steps(self.c, self.tolerance))
        cheap = self.refine == 0 and work <= SERIES_WORK
        return self.method == "series" or (self.method == "auto" and cheap)

    def _widths(self) -> list[tuple[str, int]]:
        """Return what has room in the patch, relations first, and its columns with the ego's."""
        ego = int(self.ego == "first")
        names = (*self.relations, *filter_names(len(self.filters)))
        share, rest = divmod(self.patch_size - ego, len(names))
        sizes = [share + int(position < rest) for position in range(len(names))]
        named = [(name, size + ego) for name, size in zip(names, sizes, strict=True)]
        return [entry for entry in named if entry[1] > ego] or named[:1]

    def all_slots(self) -> tuple[Slot, ...]:
        """Return the slots of a complete patch: the ego's, then one per relation."""
        ego = int(self.ego == "first")
        found, stop = [Slot(EGO, 0, 1)] * ego, ego
        for name, width in self._widths():
            start, stop = stop, stop + width - ego
            found += [Slot(name, start, stop)] * (stop > start)
        return tuple(found)

    def slots(self, name: str, width: int) -> tuple[Slot, ...]:
        """Return the slots of a relation that has so many columns, the ego's included."""
        if self.ego == "ranked":
            return (Slot(name, 0, width),)
        return (Slot("ego", 0, 1), Slot(name, 1, width))[: min(2, width)]


def filter_names(count: int) -> tuple[str, ...]:
    """Return the names of so many filters' slots."""
    return tuple(f"filter-{position}" for position in range(count))


class PreparedPatcher:
    """A fast patcher with the matrices of one graph, which gives patches of any of its nodes.

    Args:
        num_nodes: number of nodes of the graph.
        parts: name, columns with the ego's, and relation of each slot.
        patcher: the patcher that the relations come from.
    """

    def __init__(
        self, num_nodes: int, parts: list[tuple[str, int, Relation]], patcher: FastPatcher
    ) -> None:
        self.num_nodes, self.parts, self.patcher = num_nodes, parts, patcher

    def __call__(self, nodes: Tensor | None = None, callback: Callback | None = None) -> Patches:
        """Return the patches of ``nodes`` (ids or a mask; all by default)."""
        n = self.num_nodes
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
        made, count = [], nodes.numel()
        for position, (name, width, relation) in enumerate(self.parts):
            share = part_of(callback, position * count, count, len(self.parts) * count)
            found = relation.top(nodes.numpy(), width, share)
            made.append(self._patches(found, nodes, name, width))
        return Patches.join(made, [name for name, *_ in self.parts])

    def _patches(self, found: Found, nodes: Tensor, name: str, width: int) -> Patches:
        return Patches(
            torch.from_numpy(found.index),
            torch.from_numpy(found.score),
            nodes,
            self.patcher.slots(name, width),
            num_nodes=self.num_nodes,
            certified=None if found.certified is None else torch.from_numpy(found.certified),
        )
