"""Features and node indices from arrays of several kinds."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.features import csr_tensor
from herofilter.errors import GraphError


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
        _check_real(np.iscomplexobj(matrix.data))
        crow, col = (torch.from_numpy(part).long() for part in (matrix.indptr, matrix.indices))
        value = torch.from_numpy(matrix.data.astype(np.float32))
        return csr_tensor(crow, col, value, matrix.shape)
    try:
        given = features if isinstance(features, Tensor) else np.asarray(features)
        _check_real(given.is_complex() if isinstance(given, Tensor) else given.dtype.kind == "c")
        if not isinstance(given, Tensor):
            # an error about text shows it as it was given
            shown = features if given.dtype.kind == "U" else given
            given = np.require(shown, np.float32, "W")
        x = torch.as_tensor(given)
    except GraphError:
        raise
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"X must be a matrix of numbers, a row of features per node ({error}); give a data "
            "frame to have other columns encoded, or read a table with read_graph"
        ) from error
    if x.dim() != 2:
        raise GraphError(
            f"X must be a matrix, a row of features per node (got shape {list(x.shape)}); "
            "give one feature as a column"
        )
    return x.to(torch.float32)


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


def _check_real(is_complex: bool) -> None:
    if is_complex:
        raise GraphError(
            "X must hold real numbers (got complex ones: Complex data not supported); give real "
            "and imaginary parts as columns of their own"
        )
