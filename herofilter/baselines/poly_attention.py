"""Attention among the polynomial tokens of a node, and the transformer layer around it."""

import math

import torch
from torch import Tensor, nn

from herofilter.baselines.reset import reset_children
from herofilter.baselines.token_block import FeedForward, check_heads
from herofilter.nn.dropout import Dropout


class PolyAttention(nn.Module):
    r"""Attention among the K + 1 polynomial tokens of a node.

    .. math::
        \mathbf{S}_v = \tanh(\mathbf{Q}_v \mathbf{K}_v^\top / \sqrt{d}) \odot (\mathbf{1}
        \boldsymbol{\beta}^\top), \qquad \mathbf{H}'_v = \mathbf{S}_v \mathbf{H}_v

    Queries and keys come from one layer per order, :math:`\mathrm{ReLU}(\mathbf{H}_{v,k}
    \mathbf{W}_k + \mathbf{b}_k)`; the values are the tokens as they are. The sum of the output
    over orders is therefore a polynomial filter :math:`\sum_k \alpha_{v,k} P_k(\mathbf{A})
    \mathbf{X}` whose coefficients :math:`\alpha_{v,k} = \beta_k \sum_j \tanh(\cdot)_{jk}` differ
    from node to node and may be negative.

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
        hidden = torch.baddbmm(self.order_bias, tokens.transpose(0, 1), self.order_weight).relu()
        shape = (t, b, 2, self.heads, h // self.heads)
        query, key = self.query_key(hidden).view(shape).permute(2, 1, 3, 0, 4)
        score: Tensor = query @ key.transpose(-1, -2) / math.sqrt(key.size(-1))
        return score.tanh() * self.order_scale


class PolyBlock(nn.Module):
    """A pre-norm transformer layer with polynomial attention.

    Args:
        channels: width h of a token.
        num_tokens: K + 1.
        heads: heads of attention.
        dropout: on the output of each part, and inside the second one.

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
        reset_children(self)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.dropout(self.attention(self.attention_norm(tokens)))
        out: Tensor = tokens + self.dropout(self.feed(self.feed_norm(tokens)))
        return out
