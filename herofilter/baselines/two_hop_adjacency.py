"""The adjacency of nodes at distance two, without the product of the adjacency with itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation, adjacency
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.data.features import csr_tensor
from herofilter.jit import compiled
from herofilter.memory import check_memory
from herofilter.spectral.compressed_rows import PlacedMatrix

# an entry of a sparse product takes as long as eight of a dense one
_DENSE_FROM = 1 / 8


def two_hop_adjacency(data: Data) -> Callable[[Tensor], Tensor]:
    r"""Return the product with the normalised two-hop adjacency, cached on the graph.

    .. math::
        \mathbf{D}_2^{-1/2} \mathbf{A}_2 \mathbf{D}_2^{-1/2}, \qquad
        (\mathbf{A}_2)_{vw} = [\mathrm{dist}(v, w) = 2]

    Directions and weights of edges are ignored. The pairs are counted before any is stored; where
    they are many the matrix is dense, which is then faster.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> two_hop_adjacency(Data(edge_index=path, num_nodes=3))(torch.eye(3)).tolist()
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return cached_on_graph(
        data,
        ("two hops",),
        lambda: _two_hop_adjacency(adjacency(data, loops=False), data.edge_index.device),
    )


def _two_hop_adjacency(
    neighbours: sp.csr_array, device: torch.device
) -> Callable[[Tensor], Tensor]:
    n = neighbours.shape[0]
    neighbours = sp.csr_array(neighbours != 0)
    neighbours = sp.csr_array(neighbours + neighbours.T)
    edges = (neighbours.indptr.astype(np.int64), neighbours.indices.astype(np.int64))
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
        return matrix.to(device).matmul
    crow = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(degree, out=crow[1:])
    col, value = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.float32)
    _fill_sparse(*edges, scale, crow[:-1].copy(), col, value)
    parts = torch.from_numpy(crow), torch.from_numpy(col), torch.from_numpy(value)
    sparse = PlacedMatrix(csr_tensor(*parts, (n, n))).on(device)
    # symmetric
    return Propagation(sparse, sparse)


@compiled(nogil=True)
def _count(crow: Any, col: Any) -> Any:
    """Return the number of nodes at distance two of each node."""
    degree = np.zeros(crow.size - 1, dtype=np.int64)
    seen = np.full(crow.size - 1, -1, dtype=np.int64)
    for node in range(crow.size - 1):
        _mark_neighbours(crow, col, node, seen)
        for edge in range(crow[node], crow[node + 1]):
            for step in range(crow[col[edge]], crow[col[edge] + 1]):
                if seen[col[step]] != node:
                    seen[col[step]] = node
                    degree[node] += 1
    return degree


@compiled(nogil=True)
def _fill_sparse(crow: Any, col: Any, scale: Any, offset: Any, out_col: Any, value: Any) -> None:
    """Write each pair into the row of its second node, so that columns are ascending in each row.

    ``offset`` has the start of each row, and afterwards the start of the next.
    """
    seen = np.full(crow.size - 1, -1, dtype=np.int64)
    for node in range(crow.size - 1):
        _mark_neighbours(crow, col, node, seen)
        for edge in range(crow[node], crow[node + 1]):
            for step in range(crow[col[edge]], crow[col[edge] + 1]):
                far = col[step]
                if seen[far] != node:
                    seen[far] = node
                    out_col[offset[far]] = node
                    value[offset[far]] = scale[node] * scale[far]
                    offset[far] += 1


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
def _mark_neighbours(crow: Any, col: Any, node: int, seen: Any) -> None:
    """Mark a node and its neighbours, which aren't at distance two."""
    seen[node] = node
    for edge in range(crow[node], crow[node + 1]):
        seen[col[edge]] = node
