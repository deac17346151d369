"""What ``predict`` was asked for: nodes of the fitted graph, or another graph."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.tables.arrays import bare_graph, node_tensor, same_graph
from herofilter.errors import ConfigError, GraphError
from herofilter.estimator.edges import check_ends, read_edges
from herofilter.estimator.feature_reader import FeatureReader
from herofilter.nn.classifier import select
from herofilter.training.predictor import Predictor

# transformers of a pipeline may round otherwise in transform than in fit_transform
_ROUNDING, _NOISE = 1e-4, 1e-12


@dataclass(frozen=True)
class AskedGraph:
    """What to predict.

    Args:
        predictor: the trained model on the fitted graph or on another one.
        nodes: which nodes of it; None for all.
    """

    predictor: Predictor
    nodes: Tensor | None = None


def asked_nodes(predictor: Predictor, nodes: Any) -> AskedGraph:
    """Return the nodes of the fitted graph that a vector or a column of indices names."""
    array = nodes.numpy() if isinstance(nodes, Tensor) else np.asarray(nodes)
    if array.ndim == 1 and array.dtype.kind == "f" and (array % 1 != 0).any():
        raise GraphError(
            f"X as a vector must hold node indices, which are integers (got {array.dtype}): "
            "Reshape your data with X.reshape(1, -1) if they are the features of one node"
        )
    return AskedGraph(predictor, node_tensor(array, int(predictor.data.num_nodes or 0)))


def asked_data(predictor: Predictor, data: Data) -> AskedGraph:
    """Return all nodes of a PyG graph, which may be the fitted one."""
    bare, known = bare_graph(data), predictor.saved.graph
    same = known is not None and same_graph(bare, known.data)
    return AskedGraph(predictor if same else predictor.on(bare))


def asked_rows(
    predictor: Predictor, features: FeatureReader, X: Any, edges: Any, weights: Any
) -> AskedGraph:
    """Return all nodes of a graph whose nodes are the rows of X."""
    edge_index, weight = read_edges(edges, weights)
    x = features.read(X, edge_index)
    check_ends(edge_index, x.size(0))
    data = Data(x=x, edge_index=edge_index, num_nodes=x.size(0))
    if weight is not None:
        data.edge_weight = weight
    asked = asked_data(predictor, data)
    if asked.predictor is predictor or edge_index.numel():
        return asked
    return _isolated(predictor, x)


def asked_rows_alone(
    predictor: Predictor, features: FeatureReader, X: Any, same_edges: bool
) -> AskedGraph:
    """Return the nodes that rows without edges stand for.

    The rows of training are the fitted graph. Others are nodes without edges if that graph has
    none either. If ``same_edges``, as many rows as in training are its nodes with other features.
    """
    known, rows = predictor.data, int(X.shape[0])
    if known.x is None or known.get("featureless", False):
        raise GraphError(
            "X must hold node indices or be left out, since the fitted graph has no features "
            f"(got {rows} rows of features); train with features to predict by them"
        )
    as_many = rows == known.num_nodes
    x = features.read(X, known.edge_index if as_many else None)
    if not known.edge_index.numel():
        same = as_many and same_graph(Data(x=x, edge_index=known.edge_index, num_nodes=rows), known)
        return AskedGraph(predictor) if same else _isolated(predictor, x)
    if as_many and _same_up_to_rounding(x, known.x):
        return AskedGraph(predictor)
    if as_many and same_edges:
        data = copy.copy(known)
        data.x = x
        return AskedGraph(predictor.on(data))
    got = "other values than in training" if as_many else f"{rows} rows"
    raise GraphError(
        "X without edge_index must be the X of training, since the model was trained with edges "
        f"(got {got}; the fitted graph has {known.num_nodes} nodes); give the edges of these rows "
        "as edge_index ([] for none), or indices of nodes of the fitted graph as a vector"
    )


def with_shape(X: Any) -> Any:
    """Return lists and the like as arrays, and what has a shape as it is."""
    try:
        return X if hasattr(X, "shape") else np.asarray(X)
    except ValueError as error:
        raise GraphError(
            f"X must be a matrix, a row of features per node ({error}); give rows of one length"
        ) from error


def names_nodes(X: Any, by_index: bool) -> bool:
    """Return whether X is node indices: a vector, or a column if the graph was given apart."""
    return len(X.shape) == 1 or (by_index and len(X.shape) == 2 and X.shape[1] == 1)


def check_no_weights(weights: Any) -> None:
    """Raise a :class:`ConfigError` if weights were given without edges."""
    if weights is not None:
        raise ConfigError("edge_weight must come with edge_index (got it alone); give both")


def _isolated(predictor: Predictor, x: Tensor) -> AskedGraph:
    """Return nodes without edges; rows are repeated where a graph must have more nodes."""
    rows = x.size(0)
    n = max(rows, predictor.fewest_nodes)
    repeated = x if n == rows else select(x, torch.arange(n) % rows)
    data = Data(x=repeated, edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=n)
    return AskedGraph(predictor.on(data), None if n == rows else torch.arange(rows))


def _same_up_to_rounding(x: Tensor, known: Tensor) -> bool:
    """Return whether no column differs by more than a small share of its largest value."""
    if x.shape != known.shape:
        return False
    one, other = _comparable(x, known)
    largest = _largest(other).astype(np.float64)
    bound = _ROUNDING * largest + _NOISE * largest.max()
    return bool((_largest(one - other) <= bound).all())


def _comparable(x: Tensor, known: Tensor) -> tuple[Any, Any]:
    """Return both as NumPy arrays or, if both are sparse, as SciPy's."""
    if x.layout == known.layout == torch.sparse_csr:
        parts = [(t.values(), t.col_indices(), t.crow_indices()) for t in (x, known)]
        one, other = (sp.csr_array(tuple(map(np.asarray, part)), x.shape) for part in parts)
        return one, other
    dense = [each if each.layout == torch.strided else each.to_dense() for each in (x, known)]
    return dense[0].numpy(), dense[1].numpy()


def _largest(matrix: Any) -> np.ndarray:
    found = abs(matrix).max(axis=0)
    return np.asarray(found.toarray().ravel() if sp.issparse(found) else found)
