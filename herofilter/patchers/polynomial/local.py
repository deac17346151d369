"""The largest entries of rows of a polynomial on graphs of any size, with certified errors."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from herofilter.callbacks import Callback
from herofilter.errors import ConfigError, GraphError
from herofilter.patchers.polynomial.bounds import error_factors
from herofilter.patchers.polynomial.found import PolynomialFound
from herofilter.patchers.polynomial.local_kernel import (
    LocalRule,
    LocalSpace,
    local_rows,
    local_space,
)
from herofilter.patchers.ppr.push_graph import PushGraph, positions_of_nodes, rescale
from herofilter.patchers.relations import Relation
from herofilter.patchers.row_filling import fill_rows

# follows one to three thousand edges per row for most filters of order 10
EPS = 2e-3


class LocalPolynomial(Relation):
    r"""Rows of :math:`\sum_k \theta_{f,k} T_k(\tilde{\mathbf{A}})` by a truncated recurrence.

    For each source v the recurrence :math:`\mathbf{x}_{k+1} = 2\tilde{\mathbf{A}}\mathbf{x}_k -
    \mathbf{x}_{k-1}` runs on sparse vectors; an entry u is left out of the product, but not of the
    sum, while its modulus is at most about ``eps`` :math:`\sqrt{d_u}`. The cost of a row doesn't
    depend on the size of the graph. :mod:`herofilter.patchers.polynomial.bounds` says how large
    the error can be. Scores are ranked as by :func:`polynomial_top`.

    Args:
        adjacency: the symmetric adjacency matrix, not normalised, or the graph made from it.
        coefficients: :math:`\theta`, [F, K + 1], or [K + 1] for one filter.
        eps: the limit, relative to the filter's largest error factor.
        ego_first: whether the node itself is left out of the ranking; :meth:`top` then keeps
            column 0 for it.
        refine: how many edges may be followed to certify a row; 0 certifies none. Until then
            ``eps`` is divided by four.
        margin: by how much, relatively, a node left out may exceed one of a certified row.

    Example:
        >>> path = sp.csr_array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
        >>> local = LocalPolynomial(path, np.array([0.0, 0.5, 0.5]), eps=1e-6, ego_first=True)
        >>> local.top(np.array([0]), 3).index.tolist()
        [[0, 1, 2]]
    """

    def __init__(
        self,
        adjacency: sp.csr_array | PushGraph,
        coefficients: np.ndarray,
        eps: float = EPS,
        ego_first: bool = True,
        refine: int = 0,
        margin: float = 0.01,
    ) -> None:
        self.graph = adjacency if isinstance(adjacency, PushGraph) else rescale(adjacency)
        if not self.graph.symmetric:
            raise GraphError(
                "the adjacency must be symmetric for a local polynomial (got one with directed "
                "edges); symmetrise it, or use word_top on a small graph"
            )
        self.positions = positions_of_nodes(self.graph)
        weights = np.atleast_2d(np.asarray(coefficients, np.float64))
        factors = error_factors(weights)
        largest = np.maximum(factors.max(axis=1, initial=0.0, keepdims=True), 1e-300)
        gains = (factors / largest).max(axis=0, initial=0.0)
        self.rule = LocalRule(weights, factors, gains, eps, ego_first, refine, margin)

    def top(
        self, nodes: np.ndarray, patch_size: int, callback: Callback | None = None
    ) -> PolynomialFound:
        """Return the best nodes of the only filter, the node itself first with ``ego_first``."""
        if len(self.rule.weights) != 1:
            raise ConfigError(
                f"top must have one filter (got {len(self.rule.weights)}); use top_of_each"
            )
        ego = int(self.rule.exclude_self)
        found, own = self._rows(nodes, [patch_size - ego], False, callback)
        if not ego:
            return found[0]
        index = np.concatenate([nodes[:, None].astype(np.int64), found[0].index], axis=1)
        return replace(found[0], index=index, score=np.concatenate([own, found[0].score], axis=1))

    def top_of_each(
        self,
        nodes: np.ndarray,
        widths: Sequence[int],
        *,
        with_basis: bool = False,
        callback: Callback | None = None,
    ) -> list[PolynomialFound]:
        """Return the best ``widths[f]`` nodes of each filter, without a column for the ego."""
        return self._rows(nodes, widths, with_basis, callback)[0]

    def _rows(
        self, nodes: np.ndarray, widths: Sequence[int], with_basis: bool, callback: Callback | None
    ) -> tuple[list[PolynomialFound], np.ndarray]:
        filters, terms = self.rule.weights.shape
        if len(widths) != filters:
            raise ConfigError(
                f"widths must have one entry per filter (got {len(widths)} for {filters} filters)"
            )
        sources = self.positions[nodes]
        # sources that are close in memory follow one another, so that they share cache lines
        order = np.argsort(sources, kind="stable")
        sources = sources[order]
        starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
        width = int(starts[-1])
        own = np.zeros((nodes.size, filters), np.float32)
        certified = np.zeros((nodes.size, filters), np.bool_)
        basis = np.zeros((nodes.size, width if with_basis else 0, terms), np.float32)
        edges = np.zeros(nodes.size, np.int64)

        def space() -> tuple[LocalSpace, np.ndarray]:
            return local_space(self.graph, terms - 1), np.empty(self.positions.size, np.float32)

        def fill(
            rows: slice,
            space: tuple[LocalSpace, np.ndarray],
            index: np.ndarray,
            score: np.ndarray,
        ) -> None:
            fixed = (self.graph, space[0], self.rule, starts, space[1], sources[rows])
            out = (index, score, own[rows], certified[rows], with_basis, basis[rows])
            edges[rows.start] = local_rows(*fixed, *out)

        index, score = fill_rows(nodes.size, width, space, fill, callback)
        np.copyto(index, self.graph.ids[index], where=index >= 0)
        back = np.argsort(order, kind="stable")
        found = [
            PolynomialFound(
                index[back, start:stop],
                score[back, start:stop],
                certified[back, f] if self.rule.refine else None,
                int(edges.sum()),
                basis[back, start:stop] if with_basis else None,
            )
            for f, (start, stop) in enumerate(pairwise(starts))
        ]
        return found, own[back]
