"""GCN-JKNet: the baseline whose classifier sees what every convolution gave."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, JumpingKnowledge

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.gcn import convolve
from herofilter.config import Config
from herofilter.errors import check_choice
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear, Stem

MODES = ("max", "cat")


class GCNJKNet(NodeClassifier):
    r"""GCN with jumping knowledge (Xu et al., ICML 2018).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\tilde{\mathbf{A}} \mathbf{H}^{(l)} \mathbf{W}^{(l)}),
        \qquad \mathbf{Z} = \mathrm{JK}(\mathbf{H}^{(1)}, \dots, \mathbf{H}^{(L)}) \mathbf{W}

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every convolution but the first, and before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        mode: how the classifier sees the convolutions: ``max`` takes the largest entry of each
            channel, ``cat`` puts them side by side.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    whole_graph = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        mode: str = "max",
    ) -> None:
        super().__init__()
        check_choice("mode", mode, MODES)
        self.stem = None
        if num_embeddings:
            self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
            in_channels = hidden_channels
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.convs = nn.ModuleList(
            GCNConv(before, after) for before, after in itertools.pairwise(widths)
        )
        # the same map, but one that takes sparse features
        self.convs[0].lin = FeatureLinear(in_channels, hidden_channels, bias=False)
        self.jump = JumpingKnowledge(mode)
        jumped = hidden_channels * (num_layers if mode == "cat" else 1)
        self.classifier = nn.Linear(jumped, out_channels)
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for conv in self.convs:
            if isinstance(conv, GCNConv):
                conv.reset_parameters()
        self.classifier.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.input_dropout(data.x if self.stem is None else self.stem(data.x))
        spread = propagation(data)
        found: list[Tensor] = []
        for conv in self.convs:
            x = self.dropout(convolve(conv, spread, x).relu())
            found.append(select(x, nodes))
        logits: Tensor = self.classifier(self.jump(found))
        return logits


@register_model("gcn-jknet", paper="Xu et al. (ICML 2018)", needs="the edges", scales=True)
def build_gcn_jknet(data: Data, config: Config) -> GCNJKNet:
    """Build a GCN with jumping knowledge for a graph."""
    return GCNJKNet(
        *arguments(data, config),
    )
