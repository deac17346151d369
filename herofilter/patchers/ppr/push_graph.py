"""A graph in the form that local push works on: CSR arrays, scaled and laid out for the cache."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

REORDER_FROM = 50_000


class PushGraph(NamedTuple):
    """CSR arrays of the matrix to push on, ``weights[e] / degree[u]``, and the scale of scores.

    ``ids[u]`` is the node at position ``u`` of these arrays. ``symmetric`` says that a tighter
    error bound holds.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    degree: np.ndarray
    left: np.ndarray
    right: np.ndarray
    ids: np.ndarray
    symmetric: bool


def rescale(adjacency: sp.csr_array) -> PushGraph:
    r"""Return the matrix to push on for rows of :math:`\mathbf{N} = normalise(\mathbf{A})`.

    With :math:`\mathbf{S} = \sqrt{\mathbf{D}_{out}}`, pushing on :math:`\mathbf{S}^{-1} \mathbf{N}
    \mathbf{S}` and scaling the result by :math:`s_v / s_u` gives the same rows. For symmetric
    :math:`\mathbf{A}` that matrix is the random walk :math:`\mathbf{D}^{-1} \mathbf{A}`. Degrees
    are counted in mean edge weights, so that the unit of the weights doesn't matter to the limit
    :math:`\epsilon\,d_u`; a node without out-edges counts as having one.

    Nodes of a large graph are renumbered so that neighbours lie close together in memory.
    """
    size = adjacency.shape[0]
    small = np.int32 if size < np.iinfo(np.int32).max else np.int64
    ids = np.arange(size, dtype=small)
    symmetric = _is_symmetric(adjacency)
    if size >= REORDER_FROM:
        ids = np.asarray(reverse_cuthill_mckee(sp.csr_matrix(adjacency), symmetric)).astype(small)
        adjacency = _renumber(adjacency, ids)
    if symmetric and bool((adjacency.data == 1).all()):
        # the same as _weigh, at less cost
        degree = np.maximum(np.diff(adjacency.indptr), 1.0)
        root, weights = np.sqrt(degree), np.broadcast_to(np.float32(1), adjacency.data.shape)
    else:
        degree, root, weights = _weigh(adjacency)
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(small)
    return PushGraph(indptr, indices, weights, degree, root, 1.0 / root, ids, symmetric)


def _weigh(adjacency: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the degrees, their roots and the weights of edges."""
    mean = float(adjacency.data.mean()) if adjacency.nnz else 1.0
    outgoing, incoming = (np.asarray(adjacency.sum(axis=axis)) / mean for axis in (1, 0))
    degree = np.where(outgoing > 0, outgoing, 1.0)
    root = np.sqrt(degree)
    tilt = root / np.sqrt(np.where(incoming > 0, incoming, 1.0))
    weights = (adjacency.data / mean * tilt[adjacency.indices]).astype(np.float32)
    if weights.size and (weights == weights[0]).all():
        # one value in position of nnz equal ones: the innermost loop then reads one array less
        weights = np.broadcast_to(weights[0], weights.shape)
    return degree, root, weights


def positions_of_nodes(graph: PushGraph) -> np.ndarray:
    """Return the position of each node in the graph's arrays: the inverse of ``ids``."""
    position = np.empty_like(graph.ids)
    position[graph.ids] = np.arange(position.size, dtype=position.dtype)
    return position


def _is_symmetric(adjacency: sp.csr_array) -> bool:
    other = sp.csr_array(adjacency.T)
    other.sort_indices()
    return (
        np.array_equal(adjacency.indptr, other.indptr)
        and np.array_equal(adjacency.indices, other.indices)
        and np.array_equal(adjacency.data, other.data)
    )


def _renumber(adjacency: sp.csr_array, ids: np.ndarray) -> sp.csr_array:
    position = np.empty(ids.size, dtype=adjacency.indices.dtype)
    position[ids] = np.arange(ids.size, dtype=position.dtype)
    rows = adjacency[ids]
    moved = sp.csr_array((rows.data, position[rows.indices], rows.indptr), shape=rows.shape)
    moved.sort_indices()
    return moved
