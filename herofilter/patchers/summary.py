"""Full responses R·H of fixed relations, by sparse products alone."""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.structure import is_directed
from herofilter.parallel.threads import each, in_parallel
from herofilter.patchers.equivalent_nodes import find_equivalent_nodes, merge_equivalent_nodes
from herofilter.patchers.fast import BACKWARDS, TWO_HOP, FastPatcher
from herofilter.patchers.products import csr_of, product
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.spectral.sparse import arrays_of, fits_loops
from herofilter.spectral.sparse_rows import WALKS, add_walks, layer_columns

SERIES_STEPS = 4
# steps along edges, each forwards (False) or backwards
Walk = tuple[bool, ...]


class RelationSummary:
    r"""What each relation of a :class:`FastPatcher` sends to a node in all.

    A patch holds the best p nodes of a relation; the summary :math:`\mathbf{R}\mathbf{H}` holds
    a weighted sum over every one of them. ``out`` and ``in`` are the first four steps of the
    patcher's series without its zeroth term (the node itself has a token of its own), and
    ``coreference`` and ``cocitation`` are two products with the sparse matrix. Nothing of size
    n × n is made.

    Args:
        data: the graph.
        patcher: the patcher whose relations are summed up.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> summary = RelationSummary(path, FastPatcher(patch_size=2))
        >>> summary.summarise(torch.eye(4)).shape
        torch.Size([1, 4, 4])
    """

    def __init__(self, data: Data, patcher: FastPatcher) -> None:
        self.relations = patcher.relations
        self.c = patcher.c
        self.directed = patcher.directed == "keep" and is_directed(data)
        matrix = normalised_adjacency(
            data.edge_index,
            int(data.num_nodes or 0),
            data.get("edge_weight"),
            self_loops=patcher.self_loops,
            directed=patcher.directed,
        )
        matrices = matrix, sp.csr_array(matrix.T)
        self.forwards, self.backwards = (csr_of(one) for one in matrices)
        # nodes with the same edges hear the same: one row for all of them
        twins = find_equivalent_nodes(arrays_of(self.forwards), arrays_of(self.backwards))
        ahead, back = (arrays_of(csr_of(merge_equivalent_nodes(one, twins))) for one in matrices)
        self.merged, self.twins = (ahead, back), twins
        self.plan = _plan([self._terms(relation) for relation in self.relations])

    @property
    def num_summaries(self) -> int:
        """The number of relations."""
        return len(self.relations)

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return each relation's response at ``nodes``.

        Shapes:
            - **hidden**: [n, h], of all nodes
            - **returns**: [number of relations, b, h]
        """
        if not torch.is_grad_enabled() and fits_loops(hidden):
            stacked = self._compiled(hidden.detach())
        else:
            known: dict[Walk, Tensor] = {(): hidden.contiguous()}
            stacked = torch.stack([self._relation(name, known) for name in self.relations])
        return stacked if nodes is None else stacked.index_select(1, nodes)

    def summarise_layer(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return :math:`\mathrm{ReLU}(\mathbf{X}\mathbf{W} + \mathbf{b})` and its summaries.

        There is no way back. Each thread goes all the way with some columns.

        Shapes:
            - x: ``[n, f]``, sparse CSR; weight: ``[f, h]``, h a multiple of 8; bias: ``[h]``
            - returns: ``[n, h]`` and ``[number of relations, n, h]``
        """
        hidden = weight.new_empty(x.size(0), weight.size(1))
        rows, table = arrays_of(x.detach()), hidden.numpy()
        factors, shifts = (one.detach().contiguous().numpy() for one in (weight, bias))
        return hidden, self._compiled(
            hidden, lambda first: layer_columns(*rows, factors, shifts, first, table)
        )

    def _compiled(
        self, hidden: Tensor, before: Callable[[int], None] = lambda first: None
    ) -> Tensor:
        stacked = hidden.new_empty(self.num_summaries, *hidden.shape)
        dense, out = hidden.numpy(), stacked.numpy()

        def work(first: int) -> None:
            before(first)
            add_walks(*self.merged, *self.twins, *self.plan, dense, first, out)

        # columns don't depend on one another, and few of them stay in a cache
        with in_parallel():
            each(work, range(0, dense.shape[1], WALKS))
        return stacked

    def _terms(self, relation: str) -> tuple[list[tuple[Walk, float]], float]:
        """Return the walks that a relation adds up with their factors, and a factor of all."""
        backwards = self.directed and relation in BACKWARDS
        if relation in TWO_HOP:
            # N·Nᵀ goes back along edges first, Nᵀ·N forwards
            return [((self.directed and not backwards, backwards), 1.0)], 1.0
        terms = [((backwards,) * (k + 1), self.c**k) for k in range(SERIES_STEPS)]
        # scaled so that the factors add up to one
        return terms, (1 - self.c) / (1 - self.c**SERIES_STEPS)

    def _relation(self, relation: str, known: dict[Walk, Tensor]) -> Tensor:
        ((walk, _), *others), scale = self._terms(relation)
        total = self._walk(walk, known)
        for walk, factor in others:
            total = torch.add(total, self._walk(walk, known), alpha=factor)
        return total * scale

    def _walk(self, steps: Walk, known: dict[Walk, Tensor]) -> Tensor:
        """Return H after some steps, each forwards or backwards; relations share what they can."""
        if steps not in known:
            before = self._walk(steps[:-1], known)
            ahead, back = self.forwards, self.backwards
            if steps[-1]:
                ahead, back = back, ahead
            known[steps] = product(ahead, back, before)
        return known[steps]


def _plan(relations: list[tuple[list[tuple[Walk, float]], float]]) -> tuple[Any, Any]:
    """Return steps and factors for :func:`add_walks`, with as few tables as there can be."""
    factors: dict[Walk, list[float]] = {}
    for number, (terms, scale) in enumerate(relations):
        for walk, factor in terms:
            for stop in range(1, len(walk) + 1):
                factors.setdefault(walk[:stop], [0.0] * len(relations))
            factors[walk][number] += factor * scale
    # a walk comes right after the one that it goes on from, or after others that do so
    walks = sorted(factors)
    tables: dict[Walk, int] = {(): 0}
    steps = []
    for place, walk in enumerate(walks):
        before = tables[walk[:-1]]
        # a table is free when no walk from here on begins where it is
        ahead = {later[:-1] for later in walks[place:]}
        tables = {kept: table for kept, table in tables.items() if kept in ahead}
        free = (table for table in count(1) if table not in {*tables.values(), before})
        tables[walk] = next(free)
        steps.append((int(walk[-1]), before, tables[walk]))
    return np.array(steps), np.array([factors[walk] for walk in walks], dtype=np.float32)
