"""From patches to logits in one go, a dozen nodes at a time."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from herofilter.kernels.tiles import (
    TALL,
    WIDE,
    add_tall_tile,
    add_tile,
    column_tile,
    row_tile,
)

# nodes at a time: as many as a tall tile has rows
_NODES, _CLASSES = TALL
_ROWS, _COLUMNS = WIDE
# what reorders sums for the vector units, and leaves NaN what it is
_FAST = {"reassoc", "contract", "nsz", "arcp"}


class MixerEnd(NamedTuple):
    r"""The weights of the last block and of all that follows it, filled up with zeros to tiles.

    Shapes:
        - patch_norm, feature_norm: ``[2, h]``, weight and bias of LayerNorm
        - patch_first: ``[r, p]``; patch_bias: ``[r]``; patch_second: ``[p', r']``
        - feature_first: ``[h, w]``, transposed; feature_bias: ``[w]``
        - tokens: ``[p, h, c]``; hidden: ``[p, w', c]``; constant: ``[c]``, of the logits

        r' and w' are the widths of the hidden layers; r and p' are multiples of 6, w of 16
        and c of 8.
    """

    patch_norm: Any
    patch_first: Any
    patch_bias: Any
    patch_second: Any
    feature_norm: Any
    feature_first: Any
    feature_bias: Any
    tokens: Any
    hidden: Any
    constant: Any
    eps: Any


def padded(array: Any, *multiples: int) -> Any:
    """Return an array with zeros at its end, so that each side is a multiple of a number.

    Example:
        >>> padded(np.ones((2, 3), dtype=np.float32), 1, 2).tolist()
        [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    sides = [-(-size // step) * step for size, step in zip(array.shape, multiples, strict=True)]
    filled = np.zeros(sides, dtype=array.dtype)
    filled[tuple(slice(size) for size in array.shape)] = array
    return filled


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def _normalise(tokens: Any, q: int, v: int, norm: Any, eps: Any, out: Any) -> None:
    """Write the LayerNorm of one token."""
    width = norm.shape[1]
    one, size = np.float32(1), np.float32(width)
    total = squares = np.float32(0)
    for k in range(width):
        total += tokens[q, v, k]
    mean = total / size
    for k in range(width):
        rest = tokens[q, v, k] - mean
        squares += rest * rest
    scale = one / np.sqrt(squares / size + eps)
    for k in range(width):
        out[q, v, k] = (tokens[q, v, k] - mean) * scale * norm[0, k] + norm[1, k]


@njit(cache=True, nogil=True, fastmath=_FAST)
def mix_patches(
    table: Any, index: Any, scale: Any, shown: Any, labels: Any, summary: Any, end: Any, logits: Any
) -> None:
    """Write the logits of nodes: all their tokens pass through a block, and are read out.

    Args:
        table: ``[n, h]``, vectors of all nodes; h is a multiple of 4.
        index, scale: ``[b, p]``, whose vectors are the tokens, and their factors.
        shown: ``[b, p]``, the label of each token, or ``[0, 0]``.
        labels: ``[C + 1, h]``, the vectors of the labels.
        summary: ``[s, b, h]``, more tokens; s may be zero.
        end: a :class:`MixerEnd` for p + s tokens.
        logits: ``[b, C]``.
    """
    (count, members), width = index.shape, table.shape[1]
    positions, rows, height = end.tokens.shape[0], len(end.patch_bias), len(end.patch_second)
    inner, channels = end.patch_second.shape[1], len(end.feature_bias)
    wide, classes = end.hidden.shape[1], len(end.constant)
    line = _NODES * width
    tokens = np.zeros((height, _NODES, width), np.float32)
    normed = np.zeros((positions, _NODES, width), np.float32)
    mixed = np.zeros((rows, line), np.float32)
    hidden = np.zeros((positions * _NODES, channels), np.float32)
    out = np.zeros((_NODES, classes), np.float32)
    for start in range(0, count, _NODES):
        here = min(_NODES, count - start)
        for q in range(members):
            for v in range(here):
                source, factor = table[index[start + v, q]], scale[start + v, q]
                target = tokens[q, v]
                for k in range(width):
                    target[k] = source[k] * factor
        if shown.size:
            for q in range(members):
                for v in range(here):
                    label, factor = labels[shown[start + v, q]], scale[start + v, q]
                    target = tokens[q, v]
                    for k in range(width):
                        target[k] += label[k] * factor
        for s in range(summary.shape[0]):
            for v in range(here):
                source, target = summary[s, start + v], tokens[members + s, v]
                for k in range(width):
                    target[k] = source[k]
        for q in range(positions):
            for v in range(here):
                _normalise(tokens, q, v, end.patch_norm, end.eps, normed)
        first, second, bias = end.patch_first, end.patch_second, end.patch_bias
        for column in range(0, line, _COLUMNS):
            for row in range(0, rows, _ROWS):
                at = row * line + column
                row_tile(
                    first, row * positions, positions, normed, column, line, positions,
                    mixed, at, line, bias, row,
                )  # fmt: skip
            for row in range(0, height, _ROWS):
                at = row * line + column
                add_tile(
                    second, row * inner, inner, mixed, column, line, inner,
                    tokens, at, line, bias, 0,
                )  # fmt: skip
        for q in range(positions):
            for v in range(here):
                _normalise(tokens, q, v, end.feature_norm, end.eps, normed)
        first, bias = end.feature_first, end.feature_bias
        for column in range(0, channels, _COLUMNS):
            for row in range(0, positions * _NODES, _ROWS):
                at = row * channels + column
                column_tile(
                    normed, row * width, width, first, column, channels, width,
                    hidden, at, channels, bias, column,
                )  # fmt: skip
        for v in range(_NODES):
            for c in range(classes):
                out[v, c] = end.constant[c]
        for c in range(0, classes, _CLASSES):
            for q in range(positions):
                add_tall_tile(
                    tokens, q * line, width, end.tokens, q * width * classes + c, classes, width,
                    out, c, classes, bias, 0,
                )  # fmt: skip
                add_tall_tile(
                    hidden, q * _NODES * channels, channels, end.hidden, q * wide * classes + c,
                    classes, wide, out, c, classes, bias, 0,
                )  # fmt: skip
        for v in range(here):
            for c in range(logits.shape[1]):
                logits[start + v, c] = out[v, c]
