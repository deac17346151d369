"""GAT: the baseline that learns how much each neighbour counts."""

import itertools
import math

from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from herofilter.baselines.edge_attention import Edges, edge_product, edge_softmax, edges_of
from herofilter.config import Config
from herofilter.errors import ConfigError
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear, Stem

HEADS = 8


class GAT(NodeClassifier):
    r"""Graph attention network (Veličković et al., ICLR 2018).

    .. math::
        \alpha_{vu} = \mathrm{softmax}_u(\mathrm{LeakyReLU}(\mathbf{a}^\top
        [\mathbf{W}\mathbf{h}_v \Vert \mathbf{W}\mathbf{h}_u])), \qquad
        \mathbf{h}'_v = \mathrm{ELU}\Big(\sum_{u} \alpha_{vu} \mathbf{W}\mathbf{h}_u\Big)

    Hidden layers concatenate their heads, the last one has a single head. Each neighbour and the
    node itself count once; weights of edges aren't read.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers, all heads together.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every convolution but the first, and on the attention.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: of each hidden layer; they must divide ``hidden_channels``.

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
        heads: int = HEADS,
    ) -> None:
        super().__init__()
        if heads < 1 or hidden_channels % heads:
            raise ConfigError(
                f"heads must divide hidden_channels (got {heads} heads and {hidden_channels} "
                "channels); heads=0 takes what fits"
            )
        self.stem = None
        if num_embeddings:
            self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
            in_channels = hidden_channels
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.convs = nn.ModuleList(
            GATConv(before, after // heads, heads) for before, after in itertools.pairwise(widths)
        )
        self.convs.append(GATConv(hidden_channels, out_channels, 1))
        # the same map, but one that takes sparse features
        self.convs[0].lin = FeatureLinear(in_channels, hidden_channels, bias=False)
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for conv in self.convs:
            if isinstance(conv, GATConv):
                conv.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.input_dropout(data.x if self.stem is None else self.stem(data.x))
        edges = edges_of(data)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(elu(x))
            x = attend(conv, edges, x, self.dropout)
        return select(x, nodes)


def attend(conv: GATConv, edges: Edges, x: Tensor, dropout: Dropout) -> Tensor:
    """Return what ``conv(x, edge_index)`` would, without a copy of the vectors per edge."""
    # [n, a, c]
    hidden = conv.lin(x).view(-1, conv.heads, conv.out_channels)
    source, target = ((hidden * vector).sum(2) for vector in (conv.att_src, conv.att_dst))
    # [E, a]
    score = source.index_select(0, edges.source) + target.index_select(0, edges.target)
    weight = dropout(edge_softmax(edges, leaky_relu(score, conv.negative_slope)))
    out: Tensor = edge_product(edges, weight, hidden).flatten(1) + conv.bias
    return out


@register_model(
    "gat",
    paper="Veličković et al. (ICLR 2018)",
    needs="the edges, with one weight per head",
    scales=True,
    options={"heads": (1, 4, 8)},
)
def build_gat(data: Data, config: Config) -> GAT:
    """Build a GAT for a graph: eight heads, or as many of them as divide the hidden width."""
    hidden_channels = config.model.hidden_channels
    return GAT(
        *arguments(data, config),
        config.baseline.heads or math.gcd(HEADS, hidden_channels),
    )
