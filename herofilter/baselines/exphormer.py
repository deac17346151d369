"""Exphormer: the baseline that attends along edges, a random expander and virtual nodes."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.baselines.edge_attention import edge_dots, edge_product, edge_softmax
from herofilter.baselines.expander import KINDS, Interaction, interaction
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.reset import reset_children
from herofilter.baselines.token_encoder import check_heads
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem


class SparseAttention(nn.Module):
    r"""Attention along the edges of an interaction; each kind of edge has its own feature.

    .. math::
        \mathbf{y}_v = \mathbf{W}_O \sum_{e: u \to v} \mathrm{softmax}_e \left( \tfrac{1}{\sqrt{c}}
        \langle \mathbf{W}_Q \mathbf{h}_v, \mathbf{e}_{k(e)} \odot \mathbf{W}_K \mathbf{h}_u \rangle
        \right) \mathbf{W}_V \mathbf{h}_u

    by head, where :math:`\mathbf{e}_k` is learned, one for each kind of edge.

    Shapes:
        - input, output: ``[n + tokens, channels]``
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        check_heads(channels, heads)
        self.heads = heads
        self.query, self.key, self.value = (
            nn.Linear(channels, channels, bias=False) for _ in range(3)
        )
        self.features = nn.Parameter(torch.ones(len(KINDS), heads, channels // heads))
        self.out = nn.Linear(channels, channels)

    def reset_parameters(self) -> None:
        for layer in (self.query, self.key, self.value, self.out):
            layer.reset_parameters()
        nn.init.ones_(self.features)

    def forward(self, hidden: Tensor, edges: Interaction) -> Tensor:
        # [n + tokens, heads, c]
        query, key, value = (
            layer(hidden).view(hidden.size(0), self.heads, -1)
            for layer in (self.query, self.key, self.value)
        )
        query = query / math.sqrt(query.size(2))
        scores = [
            edge_dots(kind, query * feature, key)
            for kind, feature in zip(edges.kinds, self.features, strict=True)
        ]
        # [E, heads]
        weights = edge_softmax(edges.whole, torch.cat(scores)[edges.place])
        out: Tensor = self.out(edge_product(edges.whole, weights, value).flatten(1))
        return out


class ExphormerLayer(nn.Module):
    r"""A convolution and sparse attention side by side, then two linear layers.

    .. math::
        \mathbf{S} = \mathrm{LN}(\mathbf{H} + \mathrm{GCN}(\mathbf{H})) +
        \mathrm{LN}(\mathbf{H} + \mathrm{Attention}(\mathbf{H})), \qquad
        \mathbf{H} \leftarrow \mathrm{LN}(\mathbf{S} + \mathrm{MLP}(\mathbf{S}))

    Virtual nodes have the attention only.

    Shapes:
        - hidden, output: ``[n, channels]``; virtual: ``[tokens, channels]``
    """

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.conv = GCNConv(channels, channels)
        self.attention = SparseAttention(channels, heads)
        self.widen = nn.Linear(channels, 2 * channels)
        self.narrow = nn.Linear(2 * channels, channels)
        self.conv_norm = nn.LayerNorm(channels)
        self.attention_norm = nn.LayerNorm(channels)
        self.norm = nn.LayerNorm(channels)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(
        self, hidden: Tensor, virtual: Tensor, spread: Propagation, edges: Interaction
    ) -> tuple[Tensor, Tensor]:
        n = hidden.size(0)
        attended = self.dropout(self.attention(torch.cat([hidden, virtual]), edges))
        convolved = self.dropout(gcn_conv(self.conv, spread, hidden))
        total = self.conv_norm(hidden + convolved) + self.attention_norm(hidden + attended[:n])
        wide = self.dropout(self.widen(total).relu())
        out = self.norm(total + self.dropout(self.narrow(wide)))
        return out, virtual + attended[n:]


class Exphormer(NodeClassifier):
    r"""Sparse transformer on an expander graph (Shirzad et al., ICML 2023).

    Every node attends to its neighbours, to those in a random regular graph, and to virtual nodes
    that attend to all nodes: see :class:`ExphormerLayer` and :class:`SparseAttention`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of layers.
        dropout: inside the layers and before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: heads of attention, which share the width.
        tokens: number of virtual nodes.
        degree: of the random regular graph; even.

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
        heads: int = 4,
        tokens: int = 1,
        degree: int = 6,
    ) -> None:
        super().__init__()
        self.degree = degree
        self.stem = Stem(in_channels, hidden_channels, input_dropout, dropout, num_embeddings)
        self.virtual = nn.Parameter(torch.empty(tokens, hidden_channels))
        self.layers = nn.ModuleList(
            ExphormerLayer(hidden_channels, heads, dropout) for _ in range(num_layers)
        )
        self.head = Head(hidden_channels, hidden_channels, out_channels, dropout=dropout)
        nn.init.normal_(self.virtual, std=0.1)

    def reset_parameters(self) -> None:
        self.stem.reset_parameters()
        nn.init.normal_(self.virtual, std=0.1)
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]
        self.head.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        spread = propagation(data)
        edges = interaction(data, self.degree, self.virtual.size(0))
        hidden, virtual = self.stem(data.x), self.virtual
        for layer in self.layers:
            hidden, virtual = layer(hidden, virtual, spread, edges)
        logits: Tensor = self.head(select(hidden, nodes))
        return logits


@register_model(
    "exphormer",
    paper="Shirzad et al. (ICML 2023)",
    needs="the edges and an expander's, with one weight per head",
    scales=True,
    options={"heads": (1, 2, 4), "tokens": (1, 4)},
)
def build_exphormer(data: Data, config: Config) -> Exphormer:
    """Build an Exphormer for a graph."""
    hidden_channels = config.model.hidden_channels
    return Exphormer(
        *arguments(data, config),
        heads=config.baseline.heads or math.gcd(hidden_channels, 4),
        tokens=config.baseline.tokens or 1,
    )
