"""Settings whose default depends on the graph."""

import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import DiskFeatures, density
from herofilter.data.features import SPARSE_BELOW


def resolve_defaults(data: Data, config: Config) -> Config:
    """Return the configuration with ``auto`` replaced by what is recommended for the graph.

    Example:
        >>> from herofilter.data import csbm
        >>> resolve_defaults(csbm(num_nodes=100), Config()).train.feature_scaling
        'standard'
    """
    if config.train.feature_scaling != "auto":
        return config
    return config.replace(feature_scaling="none" if mostly_zero(data) else "standard")


def mostly_zero(data: Data) -> bool:
    """Return whether a graph's features are sparse, such as bags of words, or there are none.

    Sparse features are comparable as they are. Standardised, they would be dense, and rare words
    large.

    Example:
        >>> mostly_zero(Data(x=torch.eye(4))), mostly_zero(Data(x=torch.randn(4, 2)))
        (True, False)
    """
    x = data.x
    if x is None or data.get("featureless", False) or x.layout == torch.sparse_csr:
        return True
    compressed = isinstance(x, DiskFeatures) and x.sparse and not x.packed
    return compressed or density(x) < SPARSE_BELOW
