"""A layer of Exphormer: a convolution beside attention along the edges of an interaction."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import Propagation
from herofilter.baselines.edge_attention import edge_dots, edge_product, edge_softmax
from herofilter.baselines.expander import KINDS, Interaction
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.reset import reset_children
from herofilter.baselines.token_block import check_heads
from herofilter.nn.dropout import Dropout


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
        weights = edge_softmax(edges.union, torch.cat(scores)[edges.position])
        out: Tensor = self.out(edge_product(edges.union, weights, value).flatten(1))
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
        self, hidden: Tensor, virtual: Tensor, propagate: Propagation, edges: Interaction
    ) -> tuple[Tensor, Tensor]:
        n = hidden.size(0)
        attended = self.dropout(self.attention(torch.cat([hidden, virtual]), edges))
        convolved = self.dropout(gcn_conv(self.conv, propagate, hidden))
        total = self.conv_norm(hidden + convolved) + self.attention_norm(hidden + attended[:n])
        wide = self.dropout(self.widen(total).relu())
        out = self.norm(total + self.dropout(self.narrow(wide)))
        return out, virtual + attended[n:]
