"""GCN: the baseline that averages neighbours."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear, Stem


class GCN(NodeClassifier):
    r"""Graph convolutional network (Kipf and Welling, ICLR 2017).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\tilde{\mathbf{A}} \mathbf{H}^{(l)} \mathbf{W}^{(l)})

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every convolution but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.

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
    ) -> None:
        super().__init__()
        self.stem = None
        if num_embeddings:
            self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
            in_channels = hidden_channels
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.convs = nn.ModuleList(
            GCNConv(before, after) for before, after in itertools.pairwise(widths)
        )
        # the same map, but one that takes sparse features
        self.convs[0].lin = FeatureLinear(in_channels, widths[1], bias=False)
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for conv in self.convs:
            if isinstance(conv, GCNConv):
                conv.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.input_dropout(data.x if self.stem is None else self.stem(data.x))
        spread = propagation(data)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(x.relu())
            x = convolve(conv, spread, x)
        return select(x, nodes)


def convolve(conv: GCNConv, spread: Propagation, x: Tensor) -> Tensor:
    """Return what ``conv(x, edge_index, edge_weight)`` would, by one sparse product."""
    out: Tensor = spread(conv.lin(x)) + conv.bias
    return out


@register_model("gcn", paper="Kipf and Welling (ICLR 2017)", needs="the edges", scales=True)
def build_gcn(data: Data, config: Config) -> GCN:
    """Build a GCN for a graph."""
    return GCN(
        *arguments(data, config),
    )
