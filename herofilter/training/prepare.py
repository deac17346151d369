"""A checked graph in the form that training wants."""

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
from herofilter.memory import check_memory
from herofilter.nn import find_model

# features on disk that take no more than this are read into memory
IN_MEMORY_BYTES = 2**26


def prepare_features(data: Data, feature_scaling: str = "none", by_rows: bool = True) -> Data:
    """Return a copy whose features exist, are scaled, and are sparse when mostly zero.

    Large features on disk stay there, to be scaled when rows of them are read; for a model that
    doesn't read them by rows they are brought into memory.
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
        if x.layout == torch.strided and density(x) < SPARSE_BELOW:
            x = to_sparse(x)
    data.x = x
    return data


def prepare(data: Data, config: Config, model: str = "herofilter") -> Data:
    """Check a graph and return it ready for a registered model.

    Directions are kept for a model that can read them, if the configuration says so.
    """
    check_graph(data)
    entry = find_model(model)
    keep = config.patcher.directed == "keep" and entry.directed
    if not keep and is_directed(data):
        data = symmetrise(data)
    return prepare_features(data, config.train.feature_scaling, entry.by_rows)


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
