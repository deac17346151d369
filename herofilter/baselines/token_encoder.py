"""A transformer over the tokens of each node, and the read-out to one vector per node."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from herofilter.baselines.reset import reset_children
from herofilter.baselines.token_block import TokenBlock
from herofilter.nn.head import Head

_CHUNK_BYTES = 2**21


class TokenEncoder(nn.Module):
    r"""Transformer layers, the attention read-out of NAGphormer, and a classifier.

    .. math::
        \alpha_k = \mathrm{softmax}_{k \ge 1}((\mathbf{z}_0 \Vert \mathbf{z}_k)
        \mathbf{w}), \qquad \mathbf{z} = \mathbf{z}_0 + \sum_{k \ge 1} \alpha_k \mathbf{z}_k

    The half of :math:`\mathbf{w}` that multiplies :math:`\mathbf{z}_0` adds a constant to all
    scores, which the softmax cancels, so that only the other half is a parameter.

    Args:
        channels: width h of a token.
        out_channels: number of classes.
        num_layers: transformer layers.
        heads: heads of attention.
        dropout: in the layers and in the classifier.

    Shapes:
        - tokens: ``[b, t, h]``, at least two for each node, the node itself first
        - mask: ``[b, t]``, false at padding, or None; each node needs one token besides the first
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
        reset_children(self)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        logits: Tensor = self.head(read_in_chunks(self.read, tokens, mask))
        return logits

    def read(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return one vector for each node: ``[b, t, h]`` to ``[b, h]``."""
        for block in self.blocks:
            tokens = block(tokens, mask)
        tokens = self.norm(tokens)
        ego, others = tokens[:, 0], tokens[:, 1:]
        # [b, 1, t - 1]
        score = self.score(others).transpose(1, 2)
        if mask is not None:
            score = score.masked_fill(~mask[:, None, 1:], -torch.inf)
        out: Tensor = ego + (score.softmax(-1) @ others).squeeze(1)
        return out


def read_in_chunks(
    read: Callable[[Tensor, Tensor | None], Tensor], tokens: Tensor, mask: Tensor | None
) -> Tensor:
    """Return ``read(tokens, mask)``, computed for some nodes at a time.

    The tokens of a chunk stay in the cache of one core through all layers.

    Shapes:
        - tokens: ``[b, t, h]``; mask: ``[b, t]`` or None
        - output: ``[b, h]``
    """
    size = max(1, _CHUNK_BYTES // (4 * tokens.size(1) * tokens.size(2)))
    chunks = torch.split(tokens, size)
    masks = [None] * len(chunks) if mask is None else torch.split(mask, size)
    return torch.cat([read(*part) for part in zip(chunks, masks, strict=True)])
