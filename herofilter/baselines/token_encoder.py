"""A transformer over the tokens of each node, and the read-out that makes them one vector."""

import torch
from torch import Tensor, nn

from herofilter.errors import ConfigError
from herofilter.nn.dropout import Dropout
from herofilter.nn.head import Head

_CHUNK_BYTES = 2**21


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, twice as wide inside.

    Args:
        channels: width of input and output.
        dropout: after the activation.
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(channels, 2 * channels)
        self.dropout = Dropout(dropout)
        self.second = nn.Linear(2 * channels, channels)

    def reset_parameters(self) -> None:
        self.first.reset_parameters()
        self.second.reset_parameters()

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.second(self.dropout(nn.functional.gelu(self.first(tokens))))
        return out


class TokenBlock(nn.Module):
    r"""A transformer layer over the tokens of each node, normalised before each part.

    .. math::
        \mathbf{Z}' = \mathbf{Z} + \mathrm{MHA}(\mathrm{LN}(\mathbf{Z})), \qquad
        \mathbf{Z}'' = \mathbf{Z}' + \mathrm{FFN}(\mathrm{LN}(\mathbf{Z}'))

    Args:
        channels: width h of a token.
        heads: heads of attention, which must divide ``channels``.
        dropout: on what each part adds, and inside the second one.

    Shapes:
        - tokens: ``[b, t, h]``; mask: ``[b, t]``, true where there is a token, or None
        - output: ``[b, t, h]``
    """

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        check_heads(channels, heads)
        self.heads = heads
        self.attention_norm = nn.LayerNorm(channels)
        self.query_key_value = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.feed_norm = nn.LayerNorm(channels)
        self.feed = FeedForward(channels, dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for layer in (self.attention_norm, self.query_key_value, self.out, self.feed_norm):
            layer.reset_parameters()
        self.feed.reset_parameters()

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        tokens = tokens + self.dropout(self.attend(self.attention_norm(tokens), mask))
        out: Tensor = tokens + self.dropout(self.feed(self.feed_norm(tokens)))
        return out

    def attend(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return the tokens after multi-head attention among those of each node."""
        b, t, h = tokens.shape
        # [b, t, 3h] -> three times [b, a, t, h / a]
        shape = (b, t, 3, self.heads, h // self.heads)
        parts = self.query_key_value(tokens).view(shape).permute(2, 0, 3, 1, 4)
        keys = None if mask is None else mask[:, None, None, :].expand(b, 1, t, t)
        mixed = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], keys)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(b, t, h))
        return out


class TokenEncoder(nn.Module):
    r"""Transformer layers, the attention read-out of NAGphormer, and a classifier.

    .. math::
        \alpha_k = \mathrm{softmax}_{k \ge 1}((\mathbf{z}_0 \Vert \mathbf{z}_k)
        \mathbf{w}), \qquad \mathbf{z} = \mathbf{z}_0 + \sum_{k \ge 1} \alpha_k \mathbf{z}_k

    The half of :math:`\mathbf{w}` that meets :math:`\mathbf{z}_0` adds the same to each score and
    drops out of the softmax, so only the other half is here.

    Args:
        channels: width h of a token.
        out_channels: number of classes.
        num_layers: transformer layers.
        heads: heads of attention.
        dropout: in the layers and in the classifier.

    Shapes:
        - tokens: ``[b, t, h]``, at least two for each node, the node itself first
        - mask: ``[b, t]``, true where there is a token, or None; one of 1, …, t - 1 must be there
        - output: ``[b, out_channels]``
    """

    def __init__(
        self, channels: int, out_channels: int, num_layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(TokenBlock(channels, heads, dropout) for _ in range(num_layers))
        self.norm = nn.LayerNorm(channels)
        self.score = nn.Linear(channels, 1, bias=False)
        self.head = Head(channels, max(channels // 2, 1), out_channels, 2, dropout)

    def reset_parameters(self) -> None:
        for block in self.blocks:
            if isinstance(block, TokenBlock):
                block.reset_parameters()
        self.norm.reset_parameters()
        self.score.reset_parameters()
        self.head.reset_parameters()

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        # the tokens of a chunk of nodes stay in the cache of one core through all layers
        size = max(1, _CHUNK_BYTES // (4 * tokens.size(1) * tokens.size(2)))
        chunks = torch.split(tokens, size)
        masks = [None] * len(chunks) if mask is None else torch.split(mask, size)
        read = [self.read(*part) for part in zip(chunks, masks, strict=True)]
        logits: Tensor = self.head(torch.cat(read))
        return logits

    def read(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return one vector for each node: ``[b, t, h]`` to ``[b, h]``."""
        for block in self.blocks:
            tokens = block(tokens, mask)
        tokens = self.norm(tokens)
        own, others = tokens[:, 0], tokens[:, 1:]
        # [b, 1, t - 1]
        score = self.score(others).transpose(1, 2)
        if mask is not None:
            score = score.masked_fill(~mask[:, None, 1:], -torch.inf)
        out: Tensor = own + (score.softmax(-1) @ others).squeeze(1)
        return out


def check_heads(channels: int, heads: int) -> None:
    """Refuse a number of heads that doesn't divide the width."""
    if heads < 1 or channels % heads:
        raise ConfigError(
            "hidden_channels must be a multiple of heads "
            f"(got {channels} channels and {heads} heads)"
        )
