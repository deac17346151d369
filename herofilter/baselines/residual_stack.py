"""The base of deep graph convolutions with residual connections: Res-GCN, -GraphSAGE and -GAT."""

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import BatchNorm

from herofilter.baselines.feature_model import FeatureModel
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import check_choice
from herofilter.nn.classifier import select
from herofilter.nn.registry import Arguments, Option, arguments
from herofilter.nn.stem import FeatureLinear

DEPTH = 3
NORM = "batch"
LAYER_NORMS = ("layer", "batch", "none")
OPTIONS: dict[str, tuple[Option, ...]] = {
    "depth": (2, 3, 5, 8, 10),
    "normalise": LAYER_NORMS,
}


class ResidualStack(FeatureModel):
    r"""Graph convolutions with a linear residual connection, a norm, ReLU and dropout each.

    .. math::
        \mathbf{H}^{(0)} = \mathrm{drop}(\mathbf{X} \mathbf{W}), \qquad
        \mathbf{H}^{(l+1)} = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(
        \mathrm{Conv}^{(l)}(\mathbf{H}^{(l)}) + \mathbf{H}^{(l)} \mathbf{W}^{(l)})))

    This is the recipe of "Classic GNNs are strong baselines" (Luo et al., NeurIPS 2024); a linear
    classifier reads the last layer. A subclass makes one convolution in :meth:`init_conv` and
    applies it in :meth:`convolve`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 1.
        dropout: after the projection of the features and after every convolution.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        normalise: ``layer`` for LayerNorm, ``batch`` for BatchNorm over all nodes, or ``none``.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = DEPTH,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        normalise: str = NORM,
    ) -> None:
        check_choice("normalise", normalise, LAYER_NORMS)
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        h, layers = hidden_channels, range(num_layers)
        self.project = FeatureLinear(self.in_channels, h)
        self.convs = nn.ModuleList(self.init_conv(h) for _ in layers)
        self.residuals = nn.ModuleList(nn.Linear(h, h) for _ in layers)
        self.norms = nn.ModuleList(_norm(normalise, h) for _ in layers)
        self.classifier = nn.Linear(h, out_channels)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.dropout(self.project(self.features(data)))
        for conv, residual, norm in zip(self.convs, self.residuals, self.norms, strict=True):
            x = norm(self.convolve(conv, data, x) + residual(x))
            x = self.dropout(x.relu())
        logits: Tensor = self.classifier(select(x, nodes))
        return logits

    @abstractmethod
    def init_conv(self, channels: int) -> nn.Module:
        """Return a convolution that keeps the width.

        The constructor calls it, so that attributes which it reads must be set before.
        """

    @abstractmethod
    def convolve(self, conv: Any, data: Data, x: Tensor) -> Tensor:
        """Return the output of one convolution for all nodes: ``[n, h]`` to ``[n, h]``."""


def deep_arguments(data: Data, config: Config, spec: GraphSpec) -> tuple[Arguments, str]:
    """Return the arguments of a residual stack for a graph, and its kind of norm.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=60)
        >>> config = Config().replace(depth=8)
        >>> found, norm = deep_arguments(data, config, GraphSpec.of(data))
        >>> found.num_layers, norm
        (8, 'batch')
    """
    settings = config.baseline
    norm = NORM if settings.normalise == "own" else settings.normalise
    return arguments(data, config, spec)._replace(num_layers=settings.depth or DEPTH), norm


def _norm(normalise: str, channels: int) -> nn.Module:
    norms: dict[str, nn.Module] = {
        "layer": nn.LayerNorm(channels),
        "batch": BatchNorm(channels, allow_single_element=True),
        "none": nn.Identity(),
    }
    return norms[normalise]
