"""The last block, the aggregation and the head as one function, for inference."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.inference.mixer_kernel import CHUNK, MixerEnd, mix_nodes
from herofilter.nn.mixer import FeatureMLP, MixerBlock, PatchMLP
from herofilter.nn.patch_batch import Part
from herofilter.parallel.blas import one_blas_thread
from herofilter.parallel.threads import free_threads, parallel_map

# parts per thread: a slow thread takes fewer of them
_PARTS = 4


@dataclass(frozen=True, eq=False)
class FoldedEnd:
    r"""The mixer and the head, with the linear maps at the end multiplied into one.

    The second layer of the last feature MLP, the aggregation and a head of one layer are linear:
    :math:`\mathbf{y} = \sum_q \mathbf{M}_q \hat{\mathbf{P}}_q + \mathbf{M}_q \mathbf{W}_2
    \mathrm{ReLU}(\mathbf{W}_1 \mathrm{LayerNorm}(\hat{\mathbf{P}}_q) + \mathbf{b}_1) + const`,
    where :math:`\mathbf{M}_q` has a row per class. That saves a product with all h channels of
    every token. The bias of the patch MLP adds the same to all channels of a token, which LayerNorm
    subtracts again, so that it is part of the constant, too. One compiled loop computes it all for
    a chunk of nodes, whose tokens stay in the cache. BLAS may round a node's logits differently in
    another batch, by less than 1e-6 of them; the number of threads has no influence.

    Args:
        before: the blocks before the last one.
        end: the weights of the last block, the aggregation and the head.
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
        """Gather the tokens of some nodes and return their logits, for a model of one block.

        All free threads are used.

        Args:
            hidden: ``[n, h]``, the hidden vectors of all nodes.
            part: the inputs that make the tokens of the nodes.
            labels: the learned vectors of labels.
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
        out, (count, threads) = logits.numpy(), (len(logits), free_threads())
        # full chunks, so that the logits don't depend on the number of threads
        size = -(-count // (_PARTS * threads * CHUNK)) * CHUNK if threads > 1 else count
        cuts = [*range(0, count, max(size, 1)), count]
        with one_blas_thread():
            parallel_map(
                lambda cut: mix_nodes(self.end, *cut, out, *given), itertools.pairwise(cuts)
            )
        return logits


def fold_end(blocks: nn.ModuleList, aggregate: Aggregation, head: Head) -> FoldedEnd | None:
    """Return the end of a model as one function, or None where that is impossible or saves nothing.

    It must be called without gradients, and again after weights have changed.
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
    # the compiled loop reads float32 in main memory only
    if linear.weight.dtype != torch.float32 or linear.weight.device.type != "cpu":
        return None
    # folded, it is applied to tokens and to the hidden layer, which is more work then
    if linear.out_features > feature_mlp.second.out_features:
        return None
    # [p, C, h]
    readout = aggregate.per_position(linear.weight).detach()
    end = _fold(patch_norm, patch_mlp, feature_norm, feature_mlp, readout, linear.bias)
    return FoldedEnd(list(blocks)[:-1], end, linear.out_features)


@torch.no_grad()
def _fold(
    patch_norm: nn.LayerNorm,
    patch_mlp: PatchMLP,
    feature_norm: nn.LayerNorm,
    feature_mlp: FeatureMLP,
    readout: Tensor,
    bias: Tensor,
) -> MixerEnd:
    first, second = feature_mlp.first, feature_mlp.second
    weight = first.weight * feature_norm.weight
    # the patch MLP has a bias per position, for all channels; the feature MLP one per channel
    constant = bias + patch_mlp.second.bias @ readout.sum(2) + readout.sum(0) @ second.bias
    return MixerEnd(
        patch_norm=_numpy(torch.stack([patch_norm.weight, patch_norm.bias])),
        patch_first=_numpy(patch_mlp.first.weight),
        patch_bias=_numpy(patch_mlp.first.bias),
        patch_second=_numpy(patch_mlp.second.weight),
        feature_first=_numpy((weight - weight.mean(1, keepdim=True)).t()),
        feature_bias=_numpy(torch.addmv(first.bias, first.weight, feature_norm.bias)),
        # [p, C, h + w] -> [p·(h + w), C]
        readout=_numpy(
            torch.cat([readout, readout @ second.weight], 2).transpose(1, 2).flatten(0, 1)
        ),
        constant=_numpy(constant),
        eps=np.float32(patch_norm.eps),
    )


def _numpy(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()
