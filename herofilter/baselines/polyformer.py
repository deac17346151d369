"""PolyFormer: attention among polynomial tokens, a filter that each node has for itself."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.polynomial_tokens import PolynomialTokens
from herofilter.baselines.token_encoder import FeedForward, check_heads
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.dropout import Dropout
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model

_CHUNK_BYTES = 2**21


class PolyAttention(nn.Module):
    r"""Attention among the K + 1 polynomial tokens of a node.

    .. math::
        \mathbf{S}_v = \tanh(\mathbf{Q}_v \mathbf{K}_v^\top / \sqrt{d}) \odot (\mathbf{1}
        \boldsymbol{\beta}^\top), \qquad \mathbf{H}'_v = \mathbf{S}_v \mathbf{H}_v

    Queries and keys come from a layer of each order's own, :math:`\mathrm{ReLU}(\mathbf{H}_{v,k}
    \mathbf{W}_k + \mathbf{b}_k)`; the values are the tokens as they are. The sum of the output
    over orders is therefore a polynomial filter :math:`\sum_k \alpha_{v,k} P_k(\mathbf{A})
    \mathbf{X}` with coefficients :math:`\alpha_{v,k} = \beta_k \sum_j \tanh(\cdot)_{jk}` of each
    node's own, which may be negative.

    Args:
        channels: width h of a token.
        num_tokens: K + 1.
        heads: heads of attention, which must divide ``channels``.

    Shapes:
        - input and output: ``[b, K + 1, h]``
    """

    def __init__(self, channels: int, num_tokens: int, heads: int) -> None:
        super().__init__()
        check_heads(channels, heads)
        self.heads = heads
        self.order_weight = nn.Parameter(torch.empty(num_tokens, channels, channels))
        self.order_bias = nn.Parameter(torch.empty(num_tokens, 1, channels))
        self.query_key = nn.Linear(channels, 2 * channels, bias=False)
        self.order_scale = nn.Parameter(torch.empty(heads, 1, num_tokens))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.order_weight.size(1))
        nn.init.uniform_(self.order_weight, -bound, bound)
        nn.init.uniform_(self.order_bias, -bound, bound)
        self.query_key.reset_parameters()
        nn.init.ones_(self.order_scale)

    def forward(self, tokens: Tensor) -> Tensor:
        b, t, h = tokens.shape
        # [b, a, t, h / a]
        value = tokens.view(b, t, self.heads, h // self.heads).transpose(1, 2)
        out: Tensor = (self.weights(tokens) @ value).transpose(1, 2).reshape(b, t, h)
        return out

    def weights(self, tokens: Tensor) -> Tensor:
        """Return the attention of each order to each other: ``[b, heads, K + 1, K + 1]``."""
        b, t, h = tokens.shape
        # [t, b, h]: one product for each order
        own = torch.baddbmm(self.order_bias, tokens.transpose(0, 1), self.order_weight).relu()
        shape = (t, b, 2, self.heads, h // self.heads)
        query, key = self.query_key(own).view(shape).permute(2, 1, 3, 0, 4)
        score: Tensor = query @ key.transpose(-1, -2) / math.sqrt(key.size(-1))
        return score.tanh() * self.order_scale


class PolyBlock(nn.Module):
    """Polynomial attention and a feed-forward part, each normalised before and added.

    Args:
        channels: width h of a token.
        num_tokens: K + 1.
        heads: heads of attention.
        dropout: on what each part adds, and inside the second one.

    Shapes:
        - input and output: ``[b, K + 1, h]``
    """

    def __init__(self, channels: int, num_tokens: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(channels)
        self.attention = PolyAttention(channels, num_tokens, heads)
        self.feed_norm = nn.LayerNorm(channels)
        self.feed = FeedForward(channels, dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for layer in (self.attention_norm, self.attention, self.feed_norm, self.feed):
            layer.reset_parameters()

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.dropout(self.attention(self.attention_norm(tokens)))
        out: Tensor = tokens + self.dropout(self.feed(self.feed_norm(tokens)))
        return out


class PolyFormer(NodeClassifier):
    r"""PolyFormer (Ma et al., KDD 2024): node-wise filters by attention among polynomial tokens.

    .. math::
        \mathbf{H}_k = P_k(\mathbf{A}) \mathbf{X} \mathbf{W} + \mathbf{b}, \qquad
        \mathbf{y}_v = \mathrm{MLP}(\sum_k \mathrm{PolyBlocks}(\mathbf{H}_v)_k)

    The adjacency has no self-loops here, so that its spectrum reaches both ends. Where the tokens
    of the features can't be kept, see :class:`PolynomialTokens`, each step passes over the graph
    and ``whole_graph`` is set.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token, a multiple of ``heads``.
        out_channels: number of classes.
        num_layers: blocks.
        dropout: in the blocks and the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the largest order, at least 1.
        heads: heads of attention.
        basis: ``monomial``, ``bernstein`` or ``chebyshev``.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 1,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        hops: int = 6,
        heads: int = 1,
        basis: str = "chebyshev",
    ) -> None:
        super().__init__()
        self.tokens = PolynomialTokens(
            in_channels,
            hidden_channels,
            hops,
            basis,
            loops=False,
            input_dropout=input_dropout,
            num_embeddings=num_embeddings,
        )
        self.blocks = nn.ModuleList(
            PolyBlock(hidden_channels, hops + 1, heads, dropout) for _ in range(num_layers)
        )
        self.head = Head(hidden_channels, hidden_channels, out_channels, 2, dropout)
        # the tokens of a chunk of nodes stay in the cache of one core through all blocks
        self.chunk_size = max(1, _CHUNK_BYTES // (4 * (hops + 1) * hidden_channels))

    def reset_parameters(self) -> None:
        self.tokens.reset_parameters()
        for block in self.blocks:
            if isinstance(block, PolyBlock):
                block.reset_parameters()
        self.head.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        chunks = torch.split(self.tokens(data, nodes), self.chunk_size)
        logits: Tensor = self.head(torch.cat([self.read(tokens) for tokens in chunks]))
        return logits

    def read(self, tokens: Tensor) -> Tensor:
        """Return one vector for each node: ``[b, K + 1, h]`` to ``[b, h]``."""
        for block in self.blocks:
            tokens = block(tokens)
        return tokens.sum(1)


@register_model(
    "polyformer",
    paper="Ma et al. (KDD 2024)",
    needs="the edges and n·(K+1)·f polynomial features up to 1 GiB",
    scales=True,
    batches=True,
    options={"hops": (4, 6, 10), "heads": (1, 4), "basis": ("chebyshev", "monomial", "bernstein")},
)
def build_polyformer(data: Data, config: Config) -> PolyFormer:
    """Build PolyFormer for a graph."""
    basis = config.baseline.basis
    model = PolyFormer(
        *arguments(data, config, least_layers=1),
        hops=config.baseline.hops or 6,
        heads=config.baseline.heads or 1,
        basis="chebyshev" if basis == "own" else basis,
    )
    model.whole_graph = not model.tokens.keeps_table(data)
    return model
