"""The settings whose default depends on the graph, and the rules that they follow."""

from typing import NamedTuple

import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import DiskFeatures, density
from herofilter.data.features import SPARSE_BELOW
from herofilter.devices import available_devices
from herofilter.settings import ModelConfig

# few training nodes per feature, unless nodes have many neighbours whose features help out
FEW_PER_FEATURE, MANY_NEIGHBOURS = 5, 10
# so many training nodes that a model of this size hardly overfits
MANY_PER_FEATURE, MANY_NODES = 25, 1000


class Regularisation(NamedTuple):
    """How much a training is regularised, and how long it goes on without improvement."""

    weight_decay: float
    dropout: float
    input_dropout: float
    drop_path: float
    patience: int


STRONG = Regularisation(5e-3, 0.5, 0.5, 0.5, 50)
FEW = STRONG._replace(weight_decay=5e-4)
MEDIUM = FEW._replace(drop_path=0.0)
LIGHT = Regularisation(1e-5, 0.2, 0.0, 0.0, 100)


def graph_defaults(data: Data) -> Regularisation:
    """Return the regularisation that is recommended for a graph.

    It is light where training nodes are many and features few, strong where there are fewer than
    five training nodes per feature or no features at all (then each node has a vector to learn),
    and between otherwise, also where few training nodes have many neighbours, whose features help
    out; less so from a thousand training nodes on. A graph without a training mask counts with all
    its nodes.

    Example:
        >>> few = Data(x=torch.ones(90, 1703), edge_index=torch.zeros(2, 300), num_nodes=90)
        >>> graph_defaults(few).weight_decay
        0.005
        >>> many = Data(x=torch.ones(5000, 7), edge_index=torch.zeros(2, 300), num_nodes=5000)
        >>> graph_defaults(many).weight_decay
        1e-05
    """
    if data.x is None or data.get("featureless", False):
        return STRONG
    count, width = _num_training_nodes(data), data.x.size(1)
    if count >= max(MANY_NODES, MANY_PER_FEATURE * width):
        return LIGHT
    if count >= FEW_PER_FEATURE * width:
        return FEW if count < MANY_NODES else MEDIUM
    neighbours = data.edge_index.size(1) / max(1, int(data.num_nodes or 0))
    return STRONG if neighbours < MANY_NEIGHBOURS else MEDIUM


def resolve_defaults(data: Data, config: Config) -> Config:
    """Return the configuration with what is left to the graph replaced by values for it.

    Example:
        >>> from herofilter.data import csbm
        >>> config = resolve_defaults(csbm(num_nodes=100), Config().replace(dropout=0.3))
        >>> config.train.feature_scaling, config.train.weight_decay, config.model.dropout
        ('standard', 0.005, 0.3)
    """
    values = {**vars(config.model), **vars(config.train)}
    found: dict[str, float | str] = {}
    if any(values[key] is None for key in Regularisation._fields):
        defaults = graph_defaults(data)._asdict()
        found = {key: value for key, value in defaults.items() if values[key] is None}
    if config.train.feature_scaling == "auto":
        found["feature_scaling"] = "none" if mostly_zero(data) else "standard"
    if config.train.device == "auto":
        found["device"] = available_devices()[0]
    return config.replace(**found) if found else config


class DropoutRates(NamedTuple):
    """What is dropped in training: entries, entries of the features, nodes on a mixer's path."""

    dropout: float
    input_dropout: float
    drop_path: float


def dropout_rates(config: ModelConfig) -> DropoutRates:
    """Return the rates of a configuration; those of ``STRONG`` where no graph is known.

    Example:
        >>> tuple(dropout_rates(ModelConfig(dropout=0.1)))
        (0.1, 0.5, 0.5)
    """
    given = ((key, getattr(config, key)) for key in DropoutRates._fields)
    return DropoutRates(*(getattr(STRONG, key) if rate is None else rate for key, rate in given))


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


def _num_training_nodes(data: Data) -> int:
    """Return the number of training nodes, over several splits their mean."""
    mask = data.get("train_mask")
    if mask is None:
        return int(data.num_nodes or 0)
    return int(mask.sum()) // (1 if mask.dim() == 1 else max(1, mask.size(1)))
