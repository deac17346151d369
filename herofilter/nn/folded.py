"""The last block, the aggregation and the head as one, for passes without a way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from herofilter.kernels import MixerEnd, mix_patches, padded
from herofilter.kernels.tiles import TALL, WIDE
from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.mixer import FeatureMLP, MixerBlock, PatchMLP
from herofilter.nn.patch_batch import Part


@dataclass(frozen=True, eq=False)
class FoldedEnd:
    r"""All that follows the patches, with the linear maps at the end multiplied into one.

    The second layer of the last feature MLP, the aggregation and a head of one layer are linear:
    :math:`\mathbf{y} = \sum_q \mathbf{M}_q \hat{\mathbf{P}}_q + \mathbf{M}_q \mathbf{W}_2
    \mathrm{ReLU}(\mathbf{W}_1 \mathrm{LayerNorm}(\hat{\mathbf{P}}_q) + \mathbf{b}_1) + const`,
    where :math:`\mathbf{M}_q` has a row per class. That spares a product with all h channels of
    every token. The bias of the patch MLP moves all channels of a token alike, which LayerNorm
    takes back, so that it is part of the constant, too. One compiled loop does it all for a dozen
    nodes, whose tokens don't leave the cache.

    Args:
        before: the blocks before the last one.
        end: the weights of the last one, and of what follows.
        num_classes: number of classes.
    """

    before: Sequence[nn.Module]
    end: MixerEnd
    num_classes: int

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logits of tokens: ``[p, b, h]`` to ``[b, C]``."""
        for block in self.before:
            tokens = block(tokens)
        positions, count, channels = tokens.shape
        # [p, b, h] -> [p·b, h]
        table = tokens.reshape(-1, channels)
        index = torch.arange(len(table)).view(positions, count).t()
        return self._mix(table, index, torch.ones(index.shape), None, None, None)

    def read(self, hidden: Tensor, part: Part, labels: nn.Embedding | None) -> Tensor:
        """Return the logits of some nodes; tokens are gathered on the way.

        This is for a model of one block.

        Args:
            hidden: ``[n, h]``, the vectors of all nodes.
            part: what makes the tokens of the nodes.
            labels: the vectors of the labels shown.
        """
        return self._mix(hidden, part.index, part.scale, part.labels, labels, part.summary)

    def _mix(
        self,
        table: Tensor,
        index: Tensor,
        scale: Tensor,
        shown: Tensor | None,
        labels: nn.Embedding | None,
        summary: Tensor | None,
    ) -> Tensor:
        logits, channels = table.new_empty(len(index), self.num_classes), table.size(1)
        if shown is None or labels is None:
            shown, vectors = index.new_empty(0, 0), table.new_empty(0, channels)
        else:
            vectors = labels.weight
        if summary is None:
            summary = table.new_empty(0, 0, channels)
        parts = (_numpy(part) for part in (table, index, scale, shown, vectors, summary))
        mix_patches(*parts, self.end, logits.numpy())
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
    weight, channels = linear.weight, feature_mlp.second.out_features
    # the compiled loops are for these
    if weight.dtype != torch.float32 or weight.device.type != "cpu" or channels % 4:
        return None
    # the map is read for tokens and for the hidden layer: more work than the product it replaces
    if linear.out_features > channels:
        return None
    tokens, first, second = aggregate.per_position(weight), feature_mlp.first, feature_mlp.second
    # a bias of the patch MLP goes to all channels of its position, one of the other to its channel
    shift = patch_mlp.second.bias @ tokens.sum(2) + tokens.sum(0) @ second.bias
    (rows, columns), (_, classes) = WIDE, TALL
    end = MixerEnd(
        patch_norm=_numpy(torch.stack([patch_norm.weight, patch_norm.bias])),
        patch_first=padded(_numpy(patch_mlp.first.weight), rows, 1),
        patch_bias=padded(_numpy(patch_mlp.first.bias), rows),
        patch_second=padded(_numpy(patch_mlp.second.weight), rows, 1),
        feature_norm=_numpy(torch.stack([feature_norm.weight, feature_norm.bias])),
        feature_first=padded(_numpy(first.weight.t()), 1, columns),
        feature_bias=padded(_numpy(first.bias), columns),
        tokens=padded(_numpy(tokens.transpose(1, 2)), 1, 1, classes),
        hidden=padded(_numpy((tokens @ second.weight).transpose(1, 2)), 1, 1, classes),
        constant=padded(_numpy(linear.bias + shift), classes),
        eps=np.float32(patch_norm.eps),
    )
    return FoldedEnd(list(blocks)[:-1], end, linear.out_features)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()
