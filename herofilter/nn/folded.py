"""The last block, the aggregation and the head as one, for passes without a way back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.mixer import FeatureMLP, MixerBlock, PatchMLP

# a product with few classes costs more per entry than one with h channels
_WORTH = 4
# what reorders sums for the vector units, and leaves NaN what it is
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@dataclass(frozen=True, eq=False)
class FoldedEnd:
    r"""All that follows the patches, with the linear maps at the end multiplied into one.

    The second layer of the last feature MLP, the aggregation and a head of one layer are linear:
    :math:`\mathbf{y} = \sum_q \mathbf{M}_q \hat{\mathbf{P}}_q + \mathbf{M}_q \mathbf{W}_2
    \mathrm{ReLU}(\mathbf{W}_1 \mathrm{LayerNorm}(\hat{\mathbf{P}}_q) + \mathbf{b}_1) + const`,
    where :math:`\mathbf{M}_q` has a row per class. That spares a product with all h channels of
    every token. The bias of the patch MLP moves all channels of a token alike, which LayerNorm
    takes back, so that it is part of the constant, too.

    Args:
        before: the blocks before the last one.
        patch_norm, patch_mlp, feature_norm, feature_mlp: the layers of the last one.
        tokens: :math:`\mathbf{M}`, ``[p, C, h]``.
        hidden: :math:`\mathbf{M}\mathbf{W}_2`, ``[p, C, width of the hidden layer]``.
        constant: ``[C]``.
    """

    before: Sequence[nn.Module]
    patch_norm: nn.LayerNorm
    patch_mlp: PatchMLP
    feature_norm: nn.LayerNorm
    feature_mlp: FeatureMLP
    tokens: Tensor
    hidden: Tensor
    constant: Tensor

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logits of tokens, which are written over: ``[p, b, h]`` to ``[b, C]``."""
        for block in self.before:
            tokens = block(tokens)
        (p, b, h), tokens = tokens.shape, tokens.contiguous()
        # [p, b, h] -> [p, b·h] for the patch MLP, [p·b, h] for the feature MLP
        wide, rows = tokens.view(p, -1), tokens.view(-1, h)
        normed = torch.empty_like(rows)
        _normalise(rows, self.patch_norm, normed)
        layer = self.patch_mlp.first
        inner = torch.addmm(layer.bias.unsqueeze(1), layer.weight, normed.view(p, -1)).relu_()
        wide.addmm_(self.patch_mlp.second.weight, inner)
        _normalise(rows, self.feature_norm, normed)
        layer = self.feature_mlp.first
        size = (len(rows), layer.out_features)
        # the patch MLP's memory serves again if it has the right size, as it usually does
        fits = inner.numel() == math.prod(size)
        hidden = inner.view(size) if fits else rows.new_empty(size)
        torch.mm(normed, layer.weight.t(), out=hidden)
        logits = self.constant.repeat(b, 1)
        _read_out(
            tokens.numpy(),
            hidden.view(p, b, -1).numpy(),
            layer.bias.detach().numpy(),
            self.tokens.numpy(),
            self.hidden.numpy(),
            logits.numpy(),
        )
        return logits


def fold_end(blocks: nn.ModuleList, aggregate: Aggregation, head: Head) -> FoldedEnd | None:
    """Return the end of a model as one map, or None where that can't be or saves nothing.

    It must be called where no gradients are kept, and again when weights have changed.
    """
    if not blocks or len(head.layers) != 1:
        return None
    block, linear = blocks[-1], head.layers[0]
    if not (isinstance(block, MixerBlock) and block.residual and len(block.layers) == 4):
        return None
    patch_norm, patch_mlp, feature_norm, feature_mlp = block.layers
    if not (isinstance(patch_norm, nn.LayerNorm) and isinstance(feature_norm, nn.LayerNorm)):
        return None
    if not (isinstance(patch_mlp, PatchMLP) and isinstance(feature_mlp, FeatureMLP)):
        return None
    if not isinstance(linear, nn.Linear):
        return None
    weight = linear.weight
    # the compiled loops are for these
    if weight.dtype != torch.float32 or weight.device.type != "cpu":
        return None
    if _WORTH * linear.out_features > feature_mlp.second.out_features:
        return None
    tokens, second = aggregate.per_position(weight).contiguous(), feature_mlp.second
    # a bias of the patch MLP goes to all channels of its position, one of the other to its channel
    shift = patch_mlp.second.bias @ tokens.sum(2) + tokens.sum(0) @ second.bias
    return FoldedEnd(
        list(blocks)[:-1],
        patch_norm,
        patch_mlp,
        feature_norm,
        feature_mlp,
        tokens,
        tokens @ second.weight,
        linear.bias + shift,
    )


def _normalise(rows: Tensor, norm: nn.LayerNorm, out: Tensor) -> None:
    weight, bias = norm.weight.detach().numpy(), norm.bias.detach().numpy()
    _normalise_rows(rows.numpy(), weight, bias, np.float32(norm.eps), out.numpy())


@njit(cache=True, nogil=True, fastmath=_FAST)
def _normalise_rows(rows: Any, weight: Any, bias: Any, eps: Any, out: Any) -> None:
    """Write the LayerNorm of each row."""
    count, width = rows.shape
    one, size = np.float32(1), np.float32(width)
    for i in range(count):
        total = squares = np.float32(0)
        for k in range(width):
            total += rows[i, k]
        mean = total / size
        for k in range(width):
            rest = rows[i, k] - mean
            squares += rest * rest
        scale = one / np.sqrt(squares / size + eps)
        for k in range(width):
            out[i, k] = (rows[i, k] - mean) * scale * weight[k] + bias[k]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _read_out(tokens: Any, hidden: Any, bias: Any, first: Any, second: Any, logits: Any) -> None:
    """Add to the logits what each position sends: its token, and its hidden layer."""
    (count, nodes, width), inner = tokens.shape, hidden.shape[2]
    zero = np.float32(0)
    for q in range(count):
        for v in range(nodes):
            for c in range(logits.shape[1]):
                total = zero
                for k in range(width):
                    total += tokens[q, v, k] * first[q, c, k]
                for k in range(inner):
                    value = hidden[q, v, k] + bias[k]
                    total += (value if value > zero else zero) * second[q, c, k]
                logits[v, c] += total
