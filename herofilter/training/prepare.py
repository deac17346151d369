"""A checked graph in the form that training wants, and its features scaled."""

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import (
    DiskFeatures,
    check_graph,
    density,
    is_directed,
    row_normalise,
    symmetrise,
    to_sparse,
    with_features,
)
from herofilter.data.features import SPARSE_BELOW
from herofilter.data.placement import on_device
from herofilter.devices import CPU
from herofilter.memory import check_memory
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.classifier import select
from herofilter.nn.feature_scaler import FeatureScaler

# features on disk that take no more than this are read into memory
IN_MEMORY_BYTES = 2**26
# of the float64 values from which the statistics of columns are added up at a time
STATISTICS_BYTES = 2**25


def prepare_features(data: Data, feature_scaling: str = "none", by_rows: bool = True) -> Data:
    """Return a copy whose features exist, are scaled, and are sparse when mostly zero.

    Large features on disk stay there, to be scaled when rows of them are read; for a model that
    doesn't read them by rows they are brought into memory. With ``standard`` features are left as
    they are, and dense: the statistics depend on the split, so the model's scaler applies them
    (:func:`prepare_for`).
    """
    data = copy.copy(with_features(data))
    if data.get("y") is not None:
        data.y = data.y.long()
    x = _in_memory(data.x, by_rows) if isinstance(data.x, DiskFeatures) else data.x
    if isinstance(x, DiskFeatures):
        data.x = x.scaled() if feature_scaling == "rows" else x
        return data
    x = x.to(torch.float32)
    if not data.get("featureless", False):
        if feature_scaling == "rows":
            x = row_normalise(x)
        dense = x.layout == torch.strided and feature_scaling != "standard"
        if dense and density(x) < SPARSE_BELOW:
            x = to_sparse(x)
    data.x = x
    return data


def prepare(
    data: Data, config: Config, model: str = "herofilter", *, labels_required: bool = True
) -> Data:
    """Check a graph and return it ready for a registered model.

    Directions are kept for a model that can read them, if the configuration says so. To predict,
    a graph needs no labels.
    """
    check_graph(data, labels_required=labels_required)
    keeps, feature_scaling, by_rows = prepared_form(config, model)
    if not keeps and is_directed(data):
        data = symmetrise(data)
    return prepare_features(data, feature_scaling, by_rows)


def prepared_form(config: Config, model: str) -> tuple[bool, str, bool]:
    """Return all that :func:`prepare` depends on beside the graph.

    These are whether directions are kept, how features are scaled, and whether they are read by
    rows. Models for which they are the same can share a prepared graph.
    """
    entry = find_model(model)
    keeps = config.patcher.directed == "keep" and entry.directed
    return keeps, config.train.feature_scaling, entry.by_rows


def prepare_for(model: NodeClassifier, data: Data) -> Data:
    """Return a copy of a graph where ``model`` is, with features as it was trained on."""
    ready = prepare_features(on_device(data, CPU), model.feature_scaling, model.by_rows)
    return model.scale_features(on_device(ready, model.device))


def fit_scaler(x: Tensor, nodes: Tensor) -> FeatureScaler:
    """Return the scaler whose mean and deviation are those of ``nodes``, the training nodes.

    Rows are read some at a time, so features may stay on disk.

    Example:
        >>> x = torch.tensor([[1.0, 7.0], [3.0, 7.0], [90.0, 8.0]])
        >>> fit_scaler(x, torch.tensor([0, 1]))(x).tolist()
        [[-1.0, 0.0], [1.0, 0.0], [88.0, 0.0]]
    """
    width = x.size(1)
    count, (mean, total) = 0, torch.zeros(2, width, dtype=torch.float64)
    low, high = torch.full((width,), torch.inf), torch.full((width,), -torch.inf)
    for part in torch.split(nodes, max(1, STATISTICS_BYTES // (8 * max(1, width)))):
        rows = select(x, part)
        rows = rows.to_dense() if rows.layout == torch.sparse_csr else rows
        low, high = torch.minimum(low, rows.amin(0)), torch.maximum(high, rows.amax(0))
        rows = rows.double()
        # two sets of rows joined: Chan's formula for the sum of squared deviations
        step, size = rows.mean(0) - mean, part.numel()
        squares = (rows - rows.mean(0)).square().sum(0)
        total = total + squares + step.square() * (count * size / (count + size))
        mean, count = mean + step * (size / (count + size)), count + size
    deviation = (total / count).sqrt()
    scale = (1 / deviation).masked_fill((low == high) | (deviation == 0), 0)
    return FeatureScaler(mean.float(), scale.float())


def _in_memory(x: DiskFeatures, by_rows: bool) -> Tensor:
    if 4 * x.numel() <= IN_MEMORY_BYTES:
        return x.whole()
    if by_rows:
        return x
    check_memory(
        x.num_bytes,
        f"a model that reads the features of all {x.size(0)} nodes at once",
        "train herofilter or mlp, which read them from disk row by row",
    )
    return x.rows(torch.arange(x.size(0)))
