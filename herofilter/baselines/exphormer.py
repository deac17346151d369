"""Exphormer: attention along the graph's edges, a random expander and virtual nodes."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.expander import interaction
from herofilter.baselines.exphormer_layer import ExphormerLayer
from herofilter.baselines.reset import reset_children
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem


class Exphormer(NodeClassifier):
    r"""Sparse transformer on an expander graph (Shirzad et al., ICML 2023).

    Every node attends to its neighbours, to its neighbours in a random regular graph, and to
    virtual nodes, which attend to all nodes: see :class:`ExphormerLayer` and
    :class:`SparseAttention`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of layers.
        dropout: inside the layers and before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: heads of attention, a divisor of the width.
        tokens: number of virtual nodes.
        degree: of the random regular graph; even.

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
        reset_children(self.layers)
        self.head.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        propagate = propagation(data)
        edges = interaction(data, self.degree, self.virtual.size(0))
        hidden, virtual = self.stem(data.x), self.virtual
        for layer in self.layers:
            hidden, virtual = layer(hidden, virtual, propagate, edges)
        logits: Tensor = self.head(select(hidden, nodes))
        return logits


@register_model(
    "exphormer",
    paper="Shirzad et al. (ICML 2023)",
    needs="the edges and an expander's, with one weight per head",
    scales=True,
    options={"heads": (1, 2, 4), "tokens": (1, 4)},
)
def build_exphormer(data: Data, config: Config, spec: GraphSpec) -> Exphormer:
    """Build an Exphormer for a graph."""
    hidden_channels = config.model.hidden_channels
    return Exphormer(
        *arguments(data, config, spec),
        heads=config.baseline.heads or math.gcd(hidden_channels, 4),
        tokens=config.baseline.tokens or 1,
    )
