"""GraphSAGE: the baseline that keeps a node apart from the mean of its neighbours."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear, Stem


class GraphSAGE(NodeClassifier):
    r"""GraphSAGE with the mean of all neighbours (Hamilton et al., NeurIPS 2017).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{self}} +
        \mathbf{D}^{-1} \mathbf{A} \mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{mean}} +
        \mathbf{b}^{(l)})

    Self-loops are taken away, since a node has a weight of its own; weights of edges weigh the
    mean.

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
            SAGEConv(before, after, bias=False) for before, after in itertools.pairwise(widths)
        )
        for conv, (before, after) in zip(self.convs, itertools.pairwise(widths), strict=True):
            # the same maps, but such as take sparse features; the bias is the node's own, so that
            # the mean may be taken of the narrower side
            conv.lin_l = FeatureLinear(before, after, bias=False)
            conv.lin_r = FeatureLinear(before, after)
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for conv in self.convs:
            if isinstance(conv, SAGEConv):
                conv.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.input_dropout(data.x if self.stem is None else self.stem(data.x))
        mean = propagation(data, "row", loops=False)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(x.relu())
            x = aggregate(conv, mean, x)
        return select(x, nodes)


def aggregate(conv: SAGEConv, mean: Propagation, x: Tensor) -> Tensor:
    """Return what ``conv(x, edge_index)`` would, by one sparse product."""
    out: Tensor = mean(conv.lin_l(x)) + conv.lin_r(x)
    return out


@register_model("graphsage", paper="Hamilton et al. (NeurIPS 2017)", needs="the edges", scales=True)
def build_graphsage(data: Data, config: Config) -> GraphSAGE:
    """Build a GraphSAGE for a graph."""
    return GraphSAGE(
        *arguments(data, config),
    )
