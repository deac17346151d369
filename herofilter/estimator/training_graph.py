"""What ``fit`` was given, as a graph with a label per node."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.tables.arrays import bare_graph, node_tensor
from herofilter.errors import ConfigError, GraphError
from herofilter.estimator.edges import check_ends, read_edges
from herofilter.estimator.feature_reader import FeatureReader
from herofilter.estimator.sklearn_contract import warn_column

MASKS = ("train_mask", "val_mask")


@dataclass(frozen=True)
class TrainingGraph:
    """A graph to train on.

    Args:
        data: features and edges.
        labels: one per node; None or -1 for those that may not be read.
        features: how X became the features; None if they came with a graph.
    """

    data: Data
    labels: np.ndarray
    features: FeatureReader | None = None


def graph_of_data(data: Data, y: Any, edges: Any) -> TrainingGraph:
    """Return a PyG graph with the labels that its masks allow to read."""
    if y is not None or edges is not None:
        raise ConfigError(
            "y and edge_index must be left out when X is a Data (got some), since it holds both"
        )
    return TrainingGraph(bare_graph(data), _readable(data))


def graph_of_rows(X: Any, y: Any, edges: Any, weights: Any) -> TrainingGraph:
    """Return the graph whose nodes are the rows of X; without ``edges`` it has none."""
    labels = _as_objects(y)
    edge_index, weight = read_edges([] if edges is None else edges, weights)
    features, x = FeatureReader.fit(X, edge_index)
    check_ends(edge_index, x.size(0))
    data = Data(x=x, edge_index=edge_index, num_nodes=x.size(0))
    if weight is not None:
        data.edge_weight = weight
    check_length(len(labels), x.size(0))
    return TrainingGraph(data, labels, features)


def graph_of_nodes(graph: Data, nodes: Any, y: Any) -> TrainingGraph:
    """Return ``graph`` with labels for the given nodes; others that it has aren't read."""
    data, given = bare_graph(graph), _as_objects(y)
    index = node_tensor(nodes, int(data.num_nodes or 0)).numpy()
    check_length(len(given), len(index))
    labels = np.full((int(data.num_nodes or 0), *given.shape[1:]), None, dtype=object)
    labels[index] = given
    if any(a is not b and np.any(a != b) for a, b in zip(labels[index], given, strict=True)):
        raise GraphError(
            "a node that X names twice must have the same label each time (got different "
            "ones); name each node once"
        )
    return TrainingGraph(data, labels)


def given_labels(y: Any) -> Any:
    """Return ``y``, or raise a :class:`ConfigError` if it is None."""
    if y is None:
        raise ConfigError(
            "y must be given (HeroFilterClassifier requires y to be passed, but the target y is "
            "None); mark single nodes without a label with -1"
        )
    return y


def check_length(labels: int, nodes: int) -> None:
    """Raise a :class:`GraphError` unless there is a label per node."""
    if labels != nodes:
        raise GraphError(
            f"y must have one label per node of X (got {labels} labels for {nodes} nodes); "
            "mark nodes without a label with None or -1"
        )


def _as_objects(y: Any) -> np.ndarray:
    y = given_labels(y)
    labels = np.asarray(y.numpy() if isinstance(y, Tensor) else y, dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warn_column()
    return labels


def _readable(data: Data) -> np.ndarray:
    """Return the labels of a graph, -1 for nodes outside the training and validation masks."""
    y = given_labels(data.y)
    masks = [data[name] for name in MASKS if data.get(name) is not None]
    if any(mask.dim() != 1 for mask in masks):
        raise GraphError(
            "masks must be one-dimensional (got several splits); choose one with "
            "select_split(data, 0)"
        )
    if masks and y.dim() == 1:
        y = y.masked_fill(~torch.stack(masks).any(dim=0), -1)
    return np.asarray(y)
