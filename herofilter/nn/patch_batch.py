"""Batches of patches: the data of some nodes, and how it is cut into parts."""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from herofilter.data import DiskFeatures
from herofilter.memory import check_memory
from herofilter.nn.classifier import LARGEST_BATCH, Batch
from herofilter.nn.inference.hidden_table import Shared
from herofilter.patchers import Patches

# memory of a batch without gradients, with features in memory and on disk
_BATCH_BYTES, _DISK_BATCH_BYTES = 2**29, 2**28
_SMALLEST_BATCH = 256


@dataclass(frozen=True, eq=False)
class PatchBatch(Batch):
    """Nodes with their patches and the features of all nodes in them.

    Args:
        data: the graph.
        nodes: ``[b]``, or None for all.
        patches: of the nodes.
        needed: the nodes that occur in the patches, each once; None for all nodes.
        index: ``[b, p]``, the index in ``needed`` of each member of a patch.
        x: features of the needed nodes.
        shared: precomputed hidden vectors of all nodes, which are then used instead of ``x``.
    """

    patches: Patches
    needed: Tensor | None
    index: Tensor
    x: Tensor
    shared: Shared | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """The inputs that make the tokens of some nodes, besides their hidden vectors.

    Shapes:
        - index and scale: ``[b, p]``; labels: ``[b, p]`` or None
        - summary: ``[s, b, h]`` or None
    """

    index: Tensor
    scale: Tensor
    labels: Tensor | None
    summary: Tensor | None


def cut_parts(part: Part, size: int) -> list[Part]:
    """Cut the inputs of many nodes into parts of ``size`` nodes.

    Without gradients several threads may each compute a part, so that parts are of equal size.

    Example:
        >>> part = Part(torch.zeros(5, 3, dtype=torch.long), torch.ones(5, 3), None, None)
        >>> [len(part.scale) for part in cut_parts(part, 2)]
        [2, 2, 1]
    """
    if not torch.is_grad_enabled():
        size = even_size(len(part.scale), size)
    # split, and not slices: the gradient of each slice would be a full tensor
    cut = partial(torch.split, split_size_or_sections=size)
    indices, scales = cut(part.index), cut(part.scale)
    nothing = [None] * len(scales)
    columns = (
        indices,
        scales,
        nothing if part.labels is None else cut(part.labels),
        nothing if part.summary is None else cut(part.summary, dim=1),
    )
    return [Part(*column) for column in zip(*columns, strict=True)]


def even_size(count: int, most: int) -> int:
    """Return a size up to ``most`` that cuts ``count`` nodes into one or an even number of parts.

    Parts are of equal size, but for the last. The size doesn't depend on the number of
    threads, so neither do the results.

    Example:
        >>> even_size(2277, 744), even_size(183, 744)
        (570, 183)
    """
    parts = math.ceil(count / most)
    if parts > 1:
        parts += parts % 2
    return max(1, math.ceil(count / max(1, parts)))


def largest_batch(x: Tensor, members: int, channels: int) -> int:
    """Return how many nodes fit into 512 MiB of features and tokens, or 256 MiB from disk.

    Args:
        x: the features, in memory or on disk.
        members: nodes in a patch.
        channels: width of a token.
    """
    size, most = _bytes(x), _BATCH_BYTES
    if isinstance(x, DiskFeatures):
        size, most = x.num_bytes, _DISK_BATCH_BYTES
    # rows of features in use and prefetched; hidden rows before and after the activation
    row = 2 * (size // max(1, x.size(0))) + 12 * channels
    count = min(LARGEST_BATCH, int(x.size(0)))
    while count > _SMALLEST_BATCH:
        # an entry of a patch takes some forty bytes: node, index in needed, rank, score
        if row * min(count * members, x.size(0)) + 40 * count * members <= most:
            break
        count //= 2
    # a graph that fits into one batch is never cut
    return LARGEST_BATCH if count == x.size(0) else count


def check_training(num_tokens: int, channels: int, num_blocks: int) -> None:
    """Raise an error unless training on raw features, without a stem, fits into memory."""
    # each block keeps about six tensors of the size of the tokens for the gradients
    check_memory(
        4 * (2 + 6 * num_blocks) * num_tokens * channels,
        f"training on raw features of {num_tokens} tokens",
        "set batch_size, a smaller patch_size, or stem=true",
    )


def _bytes(x: Tensor) -> int:
    return 12 * x.values().numel() if x.layout == torch.sparse_csr else 4 * x.numel()
