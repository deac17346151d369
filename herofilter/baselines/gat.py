"""GAT: graph convolutions with learned attention over the neighbours."""

import itertools
import math

from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from herofilter.baselines.conv_stack import ConvStack
from herofilter.baselines.edge_attention import edge_product, edge_softmax
from herofilter.baselines.edge_list import Edges, edges_of
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear

HEADS = 8


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


class GAT(ConvStack):
    r"""Graph attention network (Veličković et al., ICLR 2018).

    .. math::
        \alpha_{vu} = \mathrm{softmax}_u(\mathrm{LeakyReLU}(\mathbf{a}^\top
        [\mathbf{W}\mathbf{h}_v \Vert \mathbf{W}\mathbf{h}_u])), \qquad
        \mathbf{h}'_v = \mathrm{ELU}\Big(\sum_{u} \alpha_{vu} \mathbf{W}\mathbf{h}_u\Big)

    Hidden layers concatenate their heads, the last one has a single head. The
    softmax runs over the distinct neighbours and the node itself; weights of edges are ignored.

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
        if heads < 1 or hidden_channels % heads:
            raise ConfigError(
                f"heads must divide hidden_channels (got {heads} heads and {hidden_channels} "
                "channels); heads=0 takes what fits"
            )
        # before the constructor, which calls init_convs
        self.heads = heads
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
        )

    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        *hidden, last = itertools.pairwise(widths)
        convs = nn.ModuleList(
            GATConv(before, after // self.heads, self.heads) for before, after in hidden
        )
        convs.append(GATConv(*last, heads=1))
        # the same map, but one that takes sparse features
        convs[0].lin = FeatureLinear(widths[0], widths[1], bias=False)
        return convs

    def convolve(self, conv: GATConv, data: Data, x: Tensor) -> Tensor:
        return attend(conv, edges_of(data), x, self.dropout)

    def activate(self, x: Tensor) -> Tensor:
        return elu(x)


@register_model(
    "gat",
    paper="Veličković et al. (ICLR 2018)",
    needs="the edges, with one weight per head",
    scales=True,
    options={"heads": (1, 4, 8)},
)
def build_gat(data: Data, config: Config, spec: GraphSpec) -> GAT:
    """Build a GAT for a graph: eight heads, or as many of them as divide the hidden width."""
    hidden_channels = config.model.hidden_channels
    return GAT(
        *arguments(data, config, spec),
        config.baseline.heads or math.gcd(HEADS, hidden_channels),
    )
