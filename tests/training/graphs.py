"""A small graph, small settings and two small models for the tests of training."""

import pyarrow as pa
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import TableGraph, csbm, select_split
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.patchers import SpectralPatcher
from herofilter.training import seeded

SMALL = Config().replace(patch_size=4, hidden_channels=8, epochs=6)


def graph(num_splits: int = 3) -> Data:
    """Return eighty nodes of three classes with several splits."""
    return csbm(num_nodes=80, num_classes=3, average_degree=6, seed=1, num_splits=num_splits)


def one_split() -> Data:
    return select_split(graph(), 0)


def hero(data: Data, patch_size: int = 4) -> HeroFilter:
    with seeded(0):
        patcher = SpectralPatcher(data, patch_size=patch_size)
        return HeroFilter(32, 3, patcher=patcher, config=SMALL.model)


class Linear(NodeClassifier):
    """The smallest model of all; it notes which nodes it was trained on."""

    def __init__(self, in_channels: int = 32, out_channels: int = 3) -> None:
        super().__init__()
        self.layer = nn.Linear(in_channels, out_channels)
        self.seen: list[Tensor] = []

    def reset_parameters(self) -> None:
        self.layer.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        if self.training and nodes is not None:
            self.seen.append(nodes)
        return self.layer(data.x if nodes is None else data.x[nodes])


def linear() -> Linear:
    with seeded(0):
        return Linear()


def copies(model: nn.Module) -> dict[str, Tensor]:
    """Return the model's state as it is now."""
    return {key: value.clone() for key, value in model.state_dict().items()}


def table_graph(data: Data) -> TableGraph:
    """Return the first split of a graph as the user's graph, its classes named by letters."""
    classes = tuple("abcdefgh"[: int(data.y.max()) + 1])
    ids = pa.array(range(int(data.num_nodes or 0)))
    return TableGraph(select_split(data, 0), ids, classes, FeatureEncoder(()))
