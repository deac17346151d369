r"""Local push: the largest entries of a row of a Neumann series, touching only nodes nearby.

Row :math:`v` of :math:`(1-c)\sum_k c^k \mathbf{M}^k` counts discounted walks from :math:`v`. A push
takes the mass that has reached a node and not gone on yet, and sends it along the node's edges;
nodes whose waiting mass is below a limit are left alone. What reached a node, pushed on or not,
counts as its score, so every score is a lower bound that rises to the exact one with the limit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numba import njit

CHUNK = 512


class PushGraph(NamedTuple):
    """CSR arrays of the matrix to push on, ``weights[e] / degree[u]``, and the scale of scores."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    degree: np.ndarray
    left: np.ndarray
    right: np.ndarray


@njit(cache=True, nogil=True)
def spread(
    indptr: Any,
    indices: Any,
    weights: Any,
    degree: Any,
    source: Any,
    c: float,
    eps: float,
    work: Any,
    queue: Any,
    touched: Any,
) -> int:
    """Push from ``source``; return how many nodes were touched.

    ``work[u]`` holds the mass that reached ``u`` and the bar above which ``u`` must be pushed:
    the mass already pushed on plus ``eps * degree[u]``. A node waits in the circular ``queue``
    exactly while it is above its bar, so crossing the bar is the sign to enqueue it and no flags
    are needed.
    """
    size = queue.shape[0]
    head, tail, waiting, count = 0, 1 % size, 1, 1
    queue[0] = source
    touched[0] = source
    work[source, 0] = 1.0
    # unsigned positions spare the test for negative ones in the innermost loop
    one = np.uint64(1)
    while waiting > 0:
        u = np.uint64(queue[head])
        head = head + 1 if head + 1 < size else 0
        waiting -= 1
        total = work[u, 0]
        limit = eps * degree[u]
        flow = c * (total - (work[u, 1] - limit)) / degree[u]
        work[u, 1] = total + limit
        for e in range(np.uint64(indptr[u]), np.uint64(indptr[u + one])):
            w = np.uint64(indices[e])
            before = work[w, 0]
            after = before + flow * weights[e]
            work[w, 0] = after
            if before == 0.0 and after > 0.0:
                touched[count] = indices[e]
                count += 1
            if before <= work[w, 1] < after:
                queue[tail] = indices[e]
                tail = tail + 1 if tail + 1 < size else 0
                waiting += 1
    return count


@njit(cache=True, nogil=True)
def insert(node: int, value: float, first: int, stop: int, index: Any, score: Any) -> int:
    """Put ``node`` into the ranking ``index[first:stop]``, lower ids first; return the new stop."""
    if stop < index.shape[0]:
        stop += 1
    elif (
        stop == first
        or value < score[stop - 1]
        or (value == score[stop - 1] and node > index[stop - 1])
    ):
        return stop
    place = stop - 1
    while place > first:
        above = score[place - 1]
        if above > value or (above == value and index[place - 1] < node):
            break
        score[place] = above
        index[place] = index[place - 1]
        place -= 1
    score[place] = value
    index[place] = node
    return stop


@njit(cache=True, nogil=True)
def rank(
    source: Any,
    nodes: Any,
    values: Any,
    left: float,
    right: Any,
    ego_first: bool,
    index: Any,
    score: Any,
) -> None:
    """Write the best of ``left * values[u] * right[u]`` over ``nodes`` into one row.

    Scores are rounded to the 32 bits of the result before they are compared, so that sums which
    differ only by the order of addition tie, and the lower id wins.
    """
    first = 1 if ego_first else 0
    stop, size = first, index.shape[0]
    for u in nodes:
        value = np.float32(left * values[u] * right[u])
        if ego_first and u == source:
            index[0] = u
            score[0] = value
        elif value > 0 and (stop < size or value >= score[size - 1]):
            # most nodes fail the test above, which costs far less than the call
            stop = insert(u, value, first, stop, index, score)


@njit(cache=True, nogil=True)
def push_rows(
    indptr: Any,
    indices: Any,
    weights: Any,
    degree: Any,
    left: Any,
    right: Any,
    sources: Any,
    c: float,
    eps: float,
    ego_first: bool,
    work: Any,
    queue: Any,
    touched: Any,
    index: Any,
    score: Any,
) -> None:
    """Fill one row of ``index`` and ``score`` per source; leave ``work`` as it was."""
    for i in range(sources.shape[0]):
        v = sources[i]
        count = spread(indptr, indices, weights, degree, v, c, eps, work, queue, touched)
        near = touched[:count]
        rank(v, near, work[:, 0], (1.0 - c) * left[v], right, ego_first, index[i], score[i])
        for u in near:
            work[u, 0] = 0.0
            work[u, 1] = eps * degree[u]


def rescale(adjacency: sp.csr_array) -> PushGraph:
    r"""Return the matrix to push on for rows of :math:`\mathbf{N} = normalise(\mathbf{A})`.

    With :math:`\mathbf{S} = \sqrt{\mathbf{D}_{out}}`, pushing on :math:`\mathbf{S}^{-1} \mathbf{N}
    \mathbf{S}` and scaling the result by :math:`s_v / s_u` gives the same rows. For symmetric
    :math:`\mathbf{A}` that matrix is the random walk :math:`\mathbf{D}^{-1} \mathbf{A}`. Degrees
    are counted in mean edge weights, so that the unit of the weights doesn't matter to the limit
    :math:`\epsilon\,d_u`; a node without out-edges counts as having one.
    """
    mean = float(adjacency.data.mean()) if adjacency.nnz else 1.0
    outgoing, incoming = (np.asarray(adjacency.sum(axis=axis)) / mean for axis in (1, 0))
    degree = np.where(outgoing > 0, outgoing, 1.0)
    root = np.sqrt(degree)
    tilt = root / np.sqrt(np.where(incoming > 0, incoming, 1.0))
    weights = (adjacency.data / mean * tilt[adjacency.indices]).astype(np.float32)
    if weights.size and (weights == weights[0]).all():
        # one number seen nnz times: the innermost loop then reads one array less
        weights = np.broadcast_to(weights[0], weights.shape)
    small = np.int32 if adjacency.shape[0] < np.iinfo(np.int32).max else np.int64
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(small)
    return PushGraph(indptr, indices, weights, degree, root, 1.0 / root)


def workspace(graph: PushGraph, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays ``work``, ``queue`` and ``touched`` that one thread needs."""
    size = graph.degree.size
    work = np.zeros((size, 2))
    work[:, 1] = eps * graph.degree
    queue, touched = np.empty((2, size), dtype=graph.indices.dtype)
    return work, queue, touched


def push_top(
    adjacency: sp.csr_array,
    nodes: np.ndarray,
    patch_size: int,
    c: float,
    eps: float,
    ego_first: bool,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return index [m, p] and score [m, p] of the best ``patch_size`` nodes for each of ``nodes``.

    Chunks of sources run on ``torch.get_num_threads()`` threads. Each row depends on its source
    alone, so the result is the same to the bit for any number of threads.
    """
    graph = rescale(adjacency)
    sources = nodes.astype(graph.indices.dtype)

    def space() -> tuple[np.ndarray, ...]:
        return workspace(graph, eps)

    def fill(rows: slice, space: tuple[np.ndarray, ...], index: Any, score: Any) -> None:
        push_rows(*graph, sources[rows], c, eps, ego_first, *space, index, score)

    return fill_rows(sources.size, patch_size, space, fill, progress)


def fill_rows(
    num_rows: int,
    patch_size: int,
    space: Callable[[], tuple[np.ndarray, ...]],
    fill: Callable[[slice, tuple[np.ndarray, ...], Any, Any], None],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return index and score, filled chunk by chunk on ``torch.get_num_threads()`` threads.

    Args:
        num_rows: how many rows there are.
        patch_size: their width.
        space: makes the arrays that one thread works in.
        fill: given a slice of rows and such arrays, fills the rows' index and score.
        progress: called with rows done and rows in all.
    """
    index = np.full((num_rows, patch_size), -1, dtype=np.int64)
    score = np.zeros((num_rows, patch_size), dtype=np.float32)
    # threads of our own: numba's are killed by fork, and its fallback pool by concurrent callers
    threads = max(1, min(torch.get_num_threads(), -(-num_rows // CHUNK)))
    spaces: SimpleQueue[tuple[np.ndarray, ...]] = SimpleQueue()
    for _ in range(threads):
        spaces.put(space())

    def chunk(start: int) -> int:
        own = spaces.get()
        rows = slice(start, start + CHUNK)
        try:
            fill(rows, own, index[rows], score[rows])
        finally:
            spaces.put(own)
        return min(start + CHUNK, num_rows)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in pool.map(chunk, range(0, num_rows, CHUNK)):
                if progress is not None:
                    progress(done, num_rows)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return index, score
