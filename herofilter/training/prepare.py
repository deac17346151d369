"""A checked graph in the form that training wants."""

import copy

import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import (
    check_graph,
    density,
    is_directed,
    row_normalise,
    symmetrise,
    to_sparse,
    with_features,
)
from herofilter.nn import find_model

SPARSE_BELOW = 0.3


def prepare_features(data: Data, feature_scaling: str = "none") -> Data:
    """Return a copy whose features exist, are scaled, and are sparse when mostly zero."""
    data = copy.copy(with_features(data))
    if data.get("y") is not None:
        data.y = data.y.long()
    x = data.x.to(torch.float32)
    if not data.get("featureless", False):
        if feature_scaling == "rows":
            x = row_normalise(x)
        if x.layout == torch.strided and density(x) < SPARSE_BELOW:
            x = to_sparse(x)
    data.x = x
    return data


def prepare(data: Data, config: Config, model: str = "herofilter") -> Data:
    """Check a graph and return it ready for a registered model.

    Directions are kept for a model that can read them, if the configuration says so.
    """
    check_graph(data)
    keep = config.patcher.directed == "keep" and find_model(model).directed
    if not keep and is_directed(data):
        data = symmetrise(data)
    return prepare_features(data, config.train.feature_scaling)
