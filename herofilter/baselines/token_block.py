"""A transformer layer over the tokens of each node."""

from torch import Tensor, nn

from herofilter.baselines.reset import reset_children
from herofilter.errors import ConfigError
from herofilter.nn.dropout import Dropout


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, the hidden one twice as wide.

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
        reset_children(self)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.second(self.dropout(nn.functional.gelu(self.first(tokens))))
        return out


class TokenBlock(nn.Module):
    r"""A pre-norm transformer layer over the tokens of each node.

    .. math::
        \mathbf{Z}' = \mathbf{Z} + \mathrm{MHA}(\mathrm{LN}(\mathbf{Z})), \qquad
        \mathbf{Z}'' = \mathbf{Z}' + \mathrm{FFN}(\mathrm{LN}(\mathbf{Z}'))

    Args:
        channels: width h of a token.
        heads: heads of attention, which must divide ``channels``.
        dropout: on the output of each part, and inside the second one.

    Shapes:
        - tokens: ``[b, t, h]``; mask: ``[b, t]``, false at padding, or None
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
        reset_children(self)

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


def check_heads(channels: int, heads: int) -> None:
    """Raise an error if the number of heads doesn't divide the width."""
    if heads < 1 or channels % heads:
        raise ConfigError(
            "hidden_channels must be a multiple of heads "
            f"(got {channels} channels and {heads} heads)"
        )
