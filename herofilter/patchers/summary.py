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
from herofilter.parallel.threads import in_parallel, parallel_map
from herofilter.patchers.equivalent_nodes import find_equivalent_nodes, merge_equivalent_nodes
from herofilter.patchers.fast import TRANSPOSED, TWO_HOP, FastPatcher
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.spectral.compressed_rows import PlacedMatrix
from herofilter.spectral.products import csr_of, product
from herofilter.spectral.sparse import csr_arrays, is_float32_on_cpu
from herofilter.spectral.sparse_rows import COLUMNS, layer_columns, sum_sparse_products

SERIES_STEPS = 4
# a product of the matrices N (False) and Nᵀ (True), the one that is applied first in front
Factors = tuple[bool, ...]


class RelationSummary:
    r"""The summary R·H of each relation of a :class:`FastPatcher`.

    A patch holds the best p nodes of a relation; the summary :math:`\mathbf{R}\mathbf{H}` holds
    a weighted sum over every one of them. ``out`` and ``in`` are the first four steps of the
    patcher's series without its zeroth term (the node itself is another token), and
    ``coreference`` and ``cocitation`` are two products with the sparse matrix. No matrix of size
    n × n is computed.

    Args:
        data: the graph.
        patcher: the patcher whose relations are summarised.

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
        self.matrix, self.transposed = (csr_of(one) for one in matrices)
        self._placed = PlacedMatrix(self.matrix), PlacedMatrix(self.transposed)
        # structurally equivalent nodes have equal summaries: one row for all of them
        equivalent = find_equivalent_nodes(csr_arrays(self.matrix), csr_arrays(self.transposed))
        self.merged = [
            csr_arrays(csr_of(merge_equivalent_nodes(one, equivalent))) for one in matrices
        ]
        self.equivalent = equivalent
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
        if not torch.is_grad_enabled() and is_float32_on_cpu(hidden):
            stacked = self._compiled(hidden.detach())
        else:
            known: dict[Factors, Tensor] = {(): hidden.contiguous()}
            stacked = torch.stack([self._relation(name, known) for name in self.relations])
        return stacked if nodes is None else stacked.index_select(1, nodes)

    def summarise_layer(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return :math:`\mathrm{ReLU}(\mathbf{X}\mathbf{W} + \mathbf{b})` and its summaries.

        No gradients are kept. Each thread computes both for some of the columns.

        Shapes:
            - x: ``[n, f]``, sparse CSR; weight: ``[f, h]``, h a multiple of 8; bias: ``[h]``
            - returns: ``[n, h]`` and ``[number of relations, n, h]``
        """
        hidden = weight.new_empty(x.size(0), weight.size(1))
        rows, table = csr_arrays(x.detach()), hidden.numpy()
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
            sum_sparse_products(*self.merged, *self.equivalent, *self.plan, dense, first, out)

        # columns don't depend on one another, and few of them stay in a cache
        with in_parallel():
            parallel_map(work, range(0, dense.shape[1], COLUMNS))
        return stacked

    def _terms(self, relation: str) -> tuple[list[tuple[Factors, float]], float]:
        """Return the products of N and Nᵀ that a relation sums, their weights, and a scale."""
        transposed = self.directed and relation in TRANSPOSED
        if relation in TWO_HOP:
            # N·Nᵀ multiplies by Nᵀ first, Nᵀ·N by N
            return [((self.directed and not transposed, transposed), 1.0)], 1.0
        terms = [((transposed,) * (k + 1), self.c**k) for k in range(SERIES_STEPS)]
        # scaled so that the weights add up to one
        return terms, (1 - self.c) / (1 - self.c**SERIES_STEPS)

    def _relation(self, relation: str, known: dict[Factors, Tensor]) -> Tensor:
        ((factors, _), *others), scale = self._terms(relation)
        total = self._product(factors, known)
        for factors, weight in others:
            total = torch.add(total, self._product(factors, known), alpha=weight)
        return total * scale

    def _product(self, factors: Factors, known: dict[Factors, Tensor]) -> Tensor:
        """Return a product of N and Nᵀ, such as N·Nᵀ, times H; prefixes are computed once."""
        if factors not in known:
            before = self._product(factors[:-1], known)
            matrix, transposed = (one.on(before.device) for one in self._placed)
            if factors[-1]:
                matrix, transposed = transposed, matrix
            known[factors] = product(matrix, transposed, before)
        return known[factors]


def _plan(relations: list[tuple[list[tuple[Factors, float]], float]]) -> tuple[Any, Any]:
    """Return steps and weights for :func:`sum_sparse_products`, with the fewest tables."""
    weights: dict[Factors, list[float]] = {}
    for relation, (terms, scale) in enumerate(relations):
        for factors, weight in terms:
            for stop in range(1, len(factors) + 1):
                weights.setdefault(factors[:stop], [0.0] * len(relations))
            weights[factors][relation] += weight * scale
    # a product comes after its prefix
    products = sorted(weights)
    tables: dict[Factors, int] = {(): 0}
    steps = []
    for position, factors in enumerate(products):
        before = tables[factors[:-1]]
        # a table is free when it holds the prefix of no product that is still to come
        needed = {later[:-1] for later in products[position:]}
        tables = {kept: table for kept, table in tables.items() if kept in needed}
        free = (table for table in count(1) if table not in {*tables.values(), before})
        tables[factors] = next(free)
        steps.append((int(factors[-1]), before, tables[factors]))
    return np.array(steps), np.array([weights[one] for one in products], dtype=np.float32)
