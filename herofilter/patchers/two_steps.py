r"""Nodes two steps away along shared neighbours: the largest entries of rows of N·Nᵀ.

With A[i, j] the edge i → j, row v of :math:`\mathbf{N}\mathbf{N}^\top` scores nodes that point to
what v points to (co-reference). The transposed matrix in its place gives nodes that are pointed to
by what points to v (co-citation). The product itself is never made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from herofilter.patchers.push import fill_rows, rank


@njit(cache=True, nogil=True)
def two_step_rows(
    indptr: Any,
    indices: Any,
    values: Any,
    back_indptr: Any,
    back_indices: Any,
    back_values: Any,
    ones: Any,
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
        rank(v, near, total, 1.0, ones, ego_first, index[i], score[i])
        for u in near:
            total[u] = 0.0


def two_steps_top(
    matrix: sp.csr_array,
    nodes: np.ndarray,
    patch_size: int,
    tolerance: float,
    ego_first: bool,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return index [m, p] and score [m, p] of the largest entries of rows of N·Nᵀ.

    Hubs with more than 1 / ``tolerance`` edges are passed over: what each of their nodes would
    get is at most ``tolerance``.

    Args:
        matrix: the normalised adjacency N.
        nodes: the rows v.
        patch_size: p.
        tolerance: what may be missed.
        ego_first: whether column 0 is kept for v itself.
        progress: called with rows done and rows in all.
    """
    size = matrix.shape[0]
    small = np.int32 if size < np.iinfo(np.int32).max else np.int64
    back = sp.csr_array(matrix.T)
    arrays = [
        array
        for csr in (matrix, back)
        for array in (csr.indptr.astype(np.int64), csr.indices.astype(small), csr.data)
    ]
    ones = np.ones(size)
    limit = int(min(1 / tolerance, 2**62))
    sources = nodes.astype(small)

    def space() -> tuple[np.ndarray, ...]:
        return np.zeros(size), np.empty(size + 1, dtype=small)

    def fill(rows: slice, space: tuple[np.ndarray, ...], index: Any, score: Any) -> None:
        two_step_rows(*arrays, ones, limit, sources[rows], ego_first, *space, index, score)

    return fill_rows(sources.size, patch_size, space, fill, progress)
