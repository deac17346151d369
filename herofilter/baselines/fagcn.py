"""FAGCN: graph convolutions with learned edge weights that may be negative."""

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import FAConv

from herofilter.baselines.adjacency import adjacency, normalised
from herofilter.baselines.edge_attention import edge_product
from herofilter.baselines.edge_list import Edges
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.baselines.reset import reset_children
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem

EPS = 0.3


def normalised_edges(data: Data) -> Edges:
    """Return the edges and self-loops with the weights of the symmetric normalisation, cached."""
    return cached_on_graph(
        data,
        ("normalised edges",),
        lambda: Edges.of(normalised(adjacency(data, True), "sym"), data.edge_index.device),
    )


def fa_conv(conv: FAConv, edges: Edges, x: Tensor, first: Tensor, dropout: Dropout) -> Tensor:
    """Return what ``conv(x, first, edge_index)`` would, without a copy of the vectors per edge."""
    source, target = conv.att_l(x), conv.att_r(x)
    # [E, 1]
    score = source.index_select(0, edges.source) + target.index_select(0, edges.target)
    weight = dropout(score.tanh()) * edges.weight.unsqueeze(1)
    out: Tensor = edge_product(edges, weight, x.unsqueeze(1)).squeeze(1) + conv.eps * first
    return out


class FAGCN(NodeClassifier):
    r"""Frequency adaptation graph convolutional network (Bo et al., AAAI 2021).

    .. math::
        \mathbf{h}^{(l+1)}_v = \varepsilon \mathbf{h}^{(0)}_v + \sum_{u}
        \frac{\tanh(\mathbf{g}^\top [\mathbf{h}^{(l)}_v \Vert \mathbf{h}^{(l)}_u])}
        {\sqrt{d_v d_u}} \mathbf{h}^{(l)}_u

    As in PyG's layer, a node is among its own neighbours. Gates are multiplied by the weights of
    edges.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of propagations, at least 2.
        dropout: on the first hidden vectors and on the gates.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        eps: ε, the weight of a node's first hidden vector in each layer.

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
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        eps: float = EPS,
    ) -> None:
        super().__init__()
        self.stem = Stem(in_channels, hidden_channels, input_dropout, dropout, num_embeddings)
        self.convs = nn.ModuleList(FAConv(hidden_channels, eps) for _ in range(num_layers))
        self.classifier = nn.Linear(hidden_channels, out_channels)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = first = self.stem(data.x)
        edges = normalised_edges(data)
        for conv in self.convs:
            x = fa_conv(conv, edges, x, first, self.dropout)
        logits: Tensor = self.classifier(select(x, nodes))
        return logits


@register_model(
    "fagcn",
    paper="Bo et al. (AAAI 2021)",
    needs="the edges, with one weight each",
    scales=True,
    options={"alpha": (0.1, 0.3, 0.5, 0.9)},
)
def build_fagcn(data: Data, config: Config, spec: GraphSpec) -> FAGCN:
    """Build an FAGCN for a graph; ``alpha`` is its ε."""
    return FAGCN(*arguments(data, config, spec), config.baseline.alpha or EPS)
