r"""Nodes two steps away along shared neighbours: the largest entries of rows of N·Nᵀ.

With A[i, j] the edge i → j, row v of :math:`\mathbf{N}\mathbf{N}^\top` scores nodes that point to
what v points to (co-reference). The transposed matrix instead gives nodes that are pointed to
by what points to v (co-citation). The product itself is never computed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from herofilter.callbacks import Callback
from herofilter.jit import compiled
from herofilter.patchers.ppr.ranking import rank
from herofilter.patchers.row_filling import fill_rows


@compiled(nogil=True)
def two_hop_rows(
    indptr: Any,
    indices: Any,
    values: Any,
    back_indptr: Any,
    back_indices: Any,
    back_values: Any,
    ones: Any,
    ids: Any,
    limit: int,
    sources: Any,
    ego_first: bool,
    total: Any,
    touched: Any,
    index: Any,
    score: Any,
) -> None:
    """Fill one row of ``index`` and ``score`` per source; leave ``total`` as it was."""
    for i in range(sources.shape[0]):
        v = sources[i]
        count = 1
        touched[0] = v
        total[v] = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            middle = indices[e]
            start, stop = back_indptr[middle], back_indptr[middle + 1]
            if stop - start > limit:
                continue
            for b in range(start, stop):
                u = back_indices[b]
                if total[u] == 0.0 and u != v:
                    touched[count] = u
                    count += 1
                total[u] += values[e] * back_values[b]
        near = touched[:count]
        rank(v, near, near, total, 1.0, ones, 1.0, ids, ego_first, index[i], score[i])
        for u in near:
            total[u] = 0.0


_NAMES = ("indptr", "indices", "data", "back_indptr", "back_indices", "back_data")


def two_hop_arrays(matrix: sp.csr_array) -> dict[str, np.ndarray]:
    """Return the arrays of N and of Nᵀ by which :class:`TwoHop` goes forth and back."""
    kind = np.int32 if matrix.shape[0] < np.iinfo(np.int32).max else np.int64
    found = [
        array
        for csr in (matrix, sp.csr_array(matrix.T))
        for array in (csr.indptr.astype(np.int64), csr.indices.astype(kind), csr.data)
    ]
    return dict(zip(_NAMES, found, strict=True))


class TwoHop:
    r"""The largest entries of rows of N·Nᵀ.

    Args:
        matrix: the normalised adjacency N, or what :func:`two_hop_arrays` returned for it.
        hub_limit: shared neighbours with more in-edges than this are skipped. Such a hub would add
            at most one over the number of its edges to a score.
    """

    def __init__(self, matrix: sp.csr_array | Mapping[str, np.ndarray], hub_limit: int) -> None:
        arrays = matrix if isinstance(matrix, Mapping) else two_hop_arrays(matrix)
        self.arrays = [arrays[name] for name in _NAMES]
        size, self.kind = self.arrays[0].size - 1, self.arrays[1].dtype
        self.hub_limit = hub_limit
        self.ones = np.ones(size)
        self.ids = np.arange(size, dtype=self.kind)

    def top(
        self,
        nodes: np.ndarray,
        patch_size: int,
        ego_first: bool,
        callback: Callback | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return index [m, p] and score [m, p] of the best nodes for each of ``nodes``."""
        sources = nodes.astype(self.kind)
        fixed = (*self.arrays, self.ones, self.ids, self.hub_limit)

        def space() -> tuple[np.ndarray, ...]:
            return np.zeros(self.ids.size), np.empty(self.ids.size + 1, dtype=self.kind)

        def fill(rows: slice, space: tuple[np.ndarray, ...], index: Any, score: Any) -> None:
            two_hop_rows(*fixed, sources[rows], ego_first, *space, index, score)

        return fill_rows(sources.size, patch_size, space, fill, callback)
