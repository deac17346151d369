"""Graphs and node indices from arrays of several kinds."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.features import csr_tensor
from herofilter.errors import GraphError


def graph_from_arrays(features: Any, edges: Any, weights: Any = None) -> Data:
    """Return a graph from a feature matrix, edges ``[2, E]`` and perhaps their weights.

    Example:
        >>> graph_from_arrays(np.eye(3), [[0, 1], [1, 2]])
        Data(x=[3, 3], edge_index=[2, 2], num_nodes=3)
    """
    x = feature_tensor(features)
    data = Data(x=x, edge_index=edge_tensor(edges), num_nodes=x.size(0))
    if weights is not None:
        data.edge_weight = torch.as_tensor(weights)
    return data


def bare_graph(data: Data) -> Data:
    """Return a graph with the features and edges of ``data`` alone."""
    # features that were derived from the edges don't count
    derived = data.x is None or data.get("featureless", False)
    bare = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    bare.x = None if derived else feature_tensor(data.x)
    if data.get("edge_weight") is not None:
        bare.edge_weight = data.edge_weight
    return bare


def same_graph(one: Data, other: Data) -> bool:
    """Return whether two graphs have the same nodes, features, edges and weights."""
    return one.num_nodes == other.num_nodes and all(
        _equal(one.get(name), other.get(name)) for name in ("edge_index", "edge_weight", "x")
    )


def feature_tensor(features: Any) -> Tensor:
    """Return features as a float32 tensor ``[n, f]``, in compressed rows if they were sparse.

    Example:
        >>> feature_tensor([[1, 2], [3, 4]]).dtype
        torch.float32
    """
    if sp.issparse(features):
        matrix = sp.csr_array(features)
        crow, col = (torch.from_numpy(part).long() for part in (matrix.indptr, matrix.indices))
        value = torch.from_numpy(matrix.data.astype(np.float32))
        return csr_tensor(crow, col, value, matrix.shape)
    try:
        x = torch.as_tensor(
            features if isinstance(features, Tensor) else np.asarray(features, dtype=np.float32)
        )
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"X must be a matrix of numbers, a row of features per node ({error}); "
            "encode other columns first, or read a table with read_graph"
        ) from error
    if x.dim() != 2:
        raise GraphError(
            f"X must be a matrix, a row of features per node (got shape {list(x.shape)}); "
            "give one feature as a column"
        )
    return x.to(torch.float32)


def edge_tensor(edges: Any) -> Tensor:
    """Return edges as an int64 tensor ``[2, E]``; other than integers stay as they are."""
    edge_index = torch.as_tensor(edges if isinstance(edges, Tensor) else np.asarray(edges))
    # the type of an empty array means nothing
    integral = not edge_index.is_floating_point() and edge_index.dtype != torch.bool
    return edge_index.long() if integral or not edge_index.numel() else edge_index


def node_tensor(nodes: Any, num_nodes: int) -> Tensor:
    """Return node indices, given as a vector or a column, as a tensor ``[b]``.

    Example:
        >>> node_tensor([[2], [0]], num_nodes=3)
        tensor([2, 0])
    """
    array = nodes.numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise GraphError(
            f"X must be a vector of node indices (got shape {list(array.shape)}); "
            "give features together with edge_index"
        )
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and (array % 1 != 0).any()):
        raise GraphError(
            f"X must hold node indices, which are integers (got {array.dtype}); "
            "a mask gives them with np.flatnonzero(mask)"
        )
    found = torch.from_numpy(array.astype(np.int64))
    if found.numel() and not 0 <= int(found.min()) <= int(found.max()) < num_nodes:
        raise GraphError(
            f"X must hold node indices from 0 to {num_nodes - 1} "
            f"(got {int(found.min())} to {int(found.max())})"
        )
    return found


def _equal(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None or one is other:
        return one is other
    if one.layout != other.layout or one.shape != other.shape:
        return False
    if one.layout == torch.sparse_csr:
        parts = [(t.crow_indices(), t.col_indices(), t.values()) for t in (one, other)]
        return all(torch.equal(*pair) for pair in zip(*parts, strict=True))
    return torch.equal(one, other)
