"""A checked graph in the form that training wants."""

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

SPARSE_BELOW = 0.1


def prepare_features(data: Data, feature_scaling: str = "none") -> Data:
    """Return a copy whose features exist, are scaled, and are sparse when mostly zero."""
    data = with_features(data)
    if data.get("featureless", False):
        return data
    x = data.x
    if feature_scaling == "rows":
        x = row_normalise(x)
    if not x.is_sparse_csr and density(x) < SPARSE_BELOW:
        x = to_sparse(x)
    data = data.clone() if x is data.x else _with_x(data, x)
    return data


def prepare(data: Data, config: Config) -> Data:
    """Check a graph and return it ready for any registered model."""
    check_graph(data)
    if config.patcher.directed == "symmetrise" and is_directed(data):
        data = symmetrise(data)
    return prepare_features(data, config.train.feature_scaling)


def _with_x(data: Data, x: object) -> Data:
    data = Data.from_dict(dict(data.to_dict()))
    data.x = x
    return data
