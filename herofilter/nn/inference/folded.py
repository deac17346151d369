"""The last block, the aggregation and the head as one, for passes without a way back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.inference.mixing import MixerEnd, MixerWeights, fold_weights, mix_patches
from herofilter.nn.mixer import FeatureMLP, MixerBlock, PatchMLP
from herofilter.nn.patch_batch import Part
from herofilter.parallel.threads import each, free_threads
from herofilter.spectral.vectors import LANES


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
        return self._mix(table, Part(index, torch.ones(index.shape), None, None), None)

    def read(self, hidden: Tensor, part: Part, labels: nn.Embedding | None) -> Tensor:
        """Return the logits of some nodes; tokens are gathered on the way.

        This is for a model of one block. All threads that are free take part.

        Args:
            hidden: ``[n, h]``, the vectors of all nodes.
            part: what makes the tokens of the nodes.
            labels: the vectors of the labels shown.
        """
        return self._mix(hidden, part, labels)

    def _mix(self, table: Tensor, part: Part, labels: nn.Embedding | None) -> Tensor:
        logits, channels = table.new_empty(len(part.index), self.num_classes), table.size(1)
        if part.labels is None or labels is None:
            shown, vectors = part.index.new_empty(0, 0), table.new_empty(0, channels)
        else:
            shown, vectors = part.labels, labels.weight
        summary = table.new_empty(0, 0, channels) if part.summary is None else part.summary
        given = [
            _numpy(tensor) for tensor in (table, part.index, part.scale, shown, vectors, summary)
        ]
        out, counter = logits.numpy(), np.zeros(1, dtype=np.int64)
        each(lambda _: mix_patches(*given, self.end, out, counter), range(free_threads()))
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
    if weight.dtype != torch.float32 or weight.device.type != "cpu" or channels % LANES:
        return None
    # the map is read for tokens and for the hidden layer: more work than the product it replaces
    if linear.out_features > channels:
        return None
    weights = MixerWeights(
        patch_norm=_pair(patch_norm),
        patch_first=_pair(patch_mlp.first),
        patch_second=_pair(patch_mlp.second),
        feature_norm=_pair(feature_norm),
        feature_first=_pair(feature_mlp.first),
        feature_second=_pair(feature_mlp.second),
        readout=_numpy(aggregate.per_position(weight)),
        constant=_numpy(linear.bias),
        eps=np.float32(patch_norm.eps),
    )
    return FoldedEnd(list(blocks)[:-1], fold_weights(weights), linear.out_features)


def _pair(layer: nn.Linear | nn.LayerNorm) -> tuple[Any, Any]:
    return _numpy(layer.weight), _numpy(layer.bias)


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()
