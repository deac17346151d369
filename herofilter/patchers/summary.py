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
from herofilter.patchers.fast import BACKWARDS, TWO_HOP, FastPatcher
from herofilter.patchers.products import csr_of, product
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.spectral.sparse import csr_arrays, is_float32_on_cpu
from herofilter.spectral.sparse_rows import COLUMNS, layer_columns, sum_sparse_products

SERIES_STEPS = 4
# steps along edges, each forwards (False) or backwards
Word = tuple[bool, ...]


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
        # structurally equivalent nodes have equal summaries: one row for all of them
        equivalent = find_equivalent_nodes(csr_arrays(self.forwards), csr_arrays(self.backwards))
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
            known: dict[Word, Tensor] = {(): hidden.contiguous()}
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

    def _terms(self, relation: str) -> tuple[list[tuple[Word, float]], float]:
        """Return the words of N and Nᵀ that a relation sums, their factors, and a factor of all."""
        backwards = self.directed and relation in BACKWARDS
        if relation in TWO_HOP:
            # N·Nᵀ goes back along edges first, Nᵀ·N forwards
            return [((self.directed and not backwards, backwards), 1.0)], 1.0
        terms = [((backwards,) * (k + 1), self.c**k) for k in range(SERIES_STEPS)]
        # scaled so that the factors add up to one
        return terms, (1 - self.c) / (1 - self.c**SERIES_STEPS)

    def _relation(self, relation: str, known: dict[Word, Tensor]) -> Tensor:
        ((word, _), *others), scale = self._terms(relation)
        total = self._product(word, known)
        for word, factor in others:
            total = torch.add(total, self._product(word, known), alpha=factor)
        return total * scale

    def _product(self, steps: Word, known: dict[Word, Tensor]) -> Tensor:
        """Return a product of N and Nᵀ, such as N·Nᵀ, times H; prefixes are computed once."""
        if steps not in known:
            before = self._product(steps[:-1], known)
            matrix, transposed = self.forwards, self.backwards
            if steps[-1]:
                matrix, transposed = transposed, matrix
            known[steps] = product(matrix, transposed, before)
        return known[steps]


def _plan(relations: list[tuple[list[tuple[Word, float]], float]]) -> tuple[Any, Any]:
    """Return steps and factors for :func:`sum_sparse_products`, with the fewest tables."""
    factors: dict[Word, list[float]] = {}
    for number, (terms, scale) in enumerate(relations):
        for word, factor in terms:
            for stop in range(1, len(word) + 1):
                factors.setdefault(word[:stop], [0.0] * len(relations))
            factors[word][number] += factor * scale
    # a word comes after its prefix
    words = sorted(factors)
    tables: dict[Word, int] = {(): 0}
    steps = []
    for position, word in enumerate(words):
        before = tables[word[:-1]]
        # a table is free when it holds the prefix of no word that is still to come
        needed = {later[:-1] for later in words[position:]}
        tables = {kept: table for kept, table in tables.items() if kept in needed}
        free = (table for table in count(1) if table not in {*tables.values(), before})
        tables[word] = next(free)
        steps.append((int(word[-1]), before, tables[word]))
    return np.array(steps), np.array([factors[word] for word in words], dtype=np.float32)
