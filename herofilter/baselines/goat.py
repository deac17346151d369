"""GOAT: attention to the neighbours, and to all nodes through a codebook."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import TransformerConv

from herofilter.baselines.codebook import Codebook
from herofilter.baselines.edge_attention import edge_dots, edge_product, edge_softmax
from herofilter.baselines.edge_list import Edges, edges_of
from herofilter.baselines.reset import reset_children
from herofilter.baselines.token_block import check_heads
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem


def transformer_conv(conv: TransformerConv, edges: Edges, hidden: Tensor) -> Tensor:
    """Return what ``conv(hidden, edge_index)`` would, for edges without duplicates."""
    query, key, value = (
        layer(hidden).view(-1, conv.heads, conv.out_channels)
        for layer in (conv.lin_query, conv.lin_key, conv.lin_value)
    )
    score = edge_dots(edges, query, key) / math.sqrt(conv.out_channels)
    mixed = edge_product(edges, edge_softmax(edges, score), value)
    out: Tensor = mixed.flatten(1) + conv.lin_skip(hidden)
    return out


class GOAT(NodeClassifier):
    r"""Global transformer (Kong et al., ICML 2023).

    Hidden vectors :math:`\mathbf{H} = \mathrm{ReLU}(\mathbf{X} \mathbf{W})` have two branches.
    Locally, each node attends along its edges in ``num_layers`` layers of
    :class:`~torch_geometric.nn.TransformerConv`, so that it sees as many hops. Globally, it
    attends to all nodes, each of them replaced by its centroid in a :class:`Codebook`:

    .. math::
        \mathbf{g}_v = \mathrm{softmax}(\mathbf{h}_v \mathbf{W}_Q (\boldsymbol{\mu}
        \mathbf{W}_K)^\top / \sqrt{d} + \log \mathbf{n}) \, \boldsymbol{\mu} \mathbf{W}_V, \qquad
        \mathbf{y}_v = \mathrm{MLP}(\mathbf{l}_v \Vert \mathbf{g}_v)

    All neighbours are read instead of a sample; positional encodings are left out. The codebook
    is updated in training mode only, and is part of the state.

    Args:
        in_channels: width of the features.
        hidden_channels: width of both branches, a multiple of ``heads``.
        out_channels: number of classes.
        num_layers: local layers.
        dropout: on the hidden vectors, between local layers and in the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: heads of both attentions.
        num_centroids: entries of the codebook.
        decay: the weight of the previous averages of the codebook.

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
        heads: int = 2,
        num_centroids: int = 64,
        decay: float = 0.9,
    ) -> None:
        super().__init__()
        check_heads(hidden_channels, heads)
        if num_centroids < 1:
            raise ConfigError(f"num_centroids must be at least 1 (got {num_centroids})")
        self.heads = heads
        self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
        self.convs = nn.ModuleList(
            TransformerConv(hidden_channels, hidden_channels // heads, heads)
            for _ in range(num_layers)
        )
        self.codebook = Codebook(num_centroids, hidden_channels, decay)
        self.query, self.key, self.value = (
            nn.Linear(hidden_channels, hidden_channels) for _ in range(3)
        )
        self.dropout = Dropout(dropout)
        self.head = Head(2 * hidden_channels, hidden_channels, out_channels, 2, dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        hidden: Tensor = self.stem(data.x)
        if self.training:
            self.codebook.update(hidden)
        hidden = self.dropout(hidden)
        local, edges = hidden, edges_of(data, loops=False)
        for number, conv in enumerate(self.convs):
            if number:
                local = self.dropout(local.relu())
            local = transformer_conv(conv, edges, local)
        both = torch.cat(
            [select(local, nodes), self.global_attention(select(hidden, nodes))], dim=1
        )
        logits: Tensor = self.head(both.relu())
        return logits

    def global_attention(self, hidden: Tensor) -> Tensor:
        """Return the attention of nodes to all nodes by the codebook: ``[b, h]`` to ``[b, h]``."""
        query, key, value = (
            layer(vectors).view(vectors.size(0), self.heads, hidden.size(1) // self.heads)
            for layer, vectors in (
                (self.query, hidden),
                (self.key, self.codebook.centroids),
                (self.value, self.codebook.centroids),
            )
        )
        return self.codebook.attend(query, key, value).reshape(hidden.shape)


@register_model(
    "goat",
    paper="Kong et al. (ICML 2023)",
    needs="the edges and a codebook of centroids",
    scales=True,
    options={"heads": (1, 2, 4), "tokens": (16, 64, 256)},
)
def build_goat(data: Data, config: Config, spec: GraphSpec) -> GOAT:
    """Build GOAT for a graph."""
    width = config.model.hidden_channels
    return GOAT(
        *arguments(data, config, spec, least_layers=1),
        heads=config.baseline.heads or math.gcd(width, 2),
        num_centroids=config.baseline.tokens or 64,
    )
