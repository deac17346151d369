"""Neighbours at distance two, found without the product of the adjacency with itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation, adjacency, remember
from herofilter.data.features import csr_tensor
from herofilter.jit import compiled
from herofilter.memory import check_memory

# a stored pair costs a sparse product as much as eight entries of a matrix cost a dense one
_DENSE_FROM = 1 / 8


def two_hops(data: Data) -> Callable[[Tensor], Tensor]:
    r"""Return the product with the graph's two-hop matrix, remembered.

    .. math::
        \mathbf{D}_2^{-1/2} \mathbf{A}_2 \mathbf{D}_2^{-1/2}, \qquad
        (\mathbf{A}_2)_{vw} = [w \text{ is two steps from } v, \; w \notin N(v) \cup \{v\}]

    Directions and weights of edges don't count. The pairs are counted before any is stored; where
    they are many, the matrix is dense, which is then the faster form.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> two_hops(Data(edge_index=path, num_nodes=3))(torch.eye(3)).tolist()
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return remember(data, ("two hops",), lambda: _two_hops(adjacency(data, loops=False)))


def _two_hops(near: sp.csr_array) -> Callable[[Tensor], Tensor]:
    n = near.shape[0]
    near = sp.csr_array(near != 0)
    near = sp.csr_array(near + near.T)
    edges = (near.indptr.astype(np.int64), near.indices.astype(np.int64))
    degree = _count(*edges)
    pairs = int(degree.sum())
    dense = pairs > _DENSE_FROM * n * n
    check_memory(
        4 * n * n if dense else 12 * pairs + 8 * n,
        f"the two-hop matrix of {n} nodes ({pairs} pairs)",
        "choose a model that scales (herofilter list --models)",
    )
    scale = np.zeros(n)
    np.power(degree, -0.5, out=scale, where=degree > 0)
    scale = scale.astype(np.float32)
    if dense:
        matrix = torch.zeros(n, n)
        _fill_dense(*edges, scale, matrix.numpy())
        return matrix.matmul
    crow = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(degree, out=crow[1:])
    col, value = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.float32)
    _fill_sparse(*edges, scale, crow[:-1].copy(), col, value)
    parts = torch.from_numpy(crow), torch.from_numpy(col), torch.from_numpy(value)
    sparse = csr_tensor(*parts, (n, n))
    # it is its own transpose
    return Propagation(sparse, sparse)


@compiled(nogil=True)
def _count(crow: Any, col: Any) -> Any:
    """Return how many nodes are at distance two of each."""
    degree = np.zeros(crow.size - 1, dtype=np.int64)
    seen = np.full(crow.size - 1, -1, dtype=np.int64)
    for node in range(crow.size - 1):
        _see_near(crow, col, node, seen)
        for edge in range(crow[node], crow[node + 1]):
            for step in range(crow[col[edge]], crow[col[edge] + 1]):
                if seen[col[step]] != node:
                    seen[col[step]] = node
                    degree[node] += 1
    return degree


@compiled(nogil=True)
def _fill_sparse(crow: Any, col: Any, scale: Any, place: Any, out_col: Any, value: Any) -> None:
    """Write each pair into the row of its far end, which so fills up in ascending order.

    ``place`` has the start of each row, and of the next one afterwards.
    """
    seen = np.full(crow.size - 1, -1, dtype=np.int64)
    for node in range(crow.size - 1):
        _see_near(crow, col, node, seen)
        for edge in range(crow[node], crow[node + 1]):
            for step in range(crow[col[edge]], crow[col[edge] + 1]):
                far = col[step]
                if seen[far] != node:
                    seen[far] = node
                    out_col[place[far]] = node
                    value[place[far]] = scale[node] * scale[far]
                    place[far] += 1


@compiled(nogil=True)
def _fill_dense(crow: Any, col: Any, scale: Any, out: Any) -> None:
    for node in range(crow.size - 1):
        row = out[node]
        for edge in range(crow[node], crow[node + 1]):
            for step in range(crow[col[edge]], crow[col[edge] + 1]):
                row[col[step]] = scale[node] * scale[col[step]]
        row[node] = 0
        for edge in range(crow[node], crow[node + 1]):
            row[col[edge]] = 0


@compiled(nogil=True)
def _see_near(crow: Any, col: Any, node: int, seen: Any) -> None:
    """Mark a node and its neighbours, so that they don't count as two steps away."""
    seen[node] = node
    for edge in range(crow[node], crow[node + 1]):
        seen[col[edge]] = node
