"""From patches to logits in one go, a dozen nodes at a time."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from herofilter.kernels.norms import normalise_rows
from herofilter.kernels.tiles import TALL, WIDE, add_tall_tile, add_tile, column_tile, row_tile
from herofilter.kernels.turns import take_turn

# nodes at a time: as many as a tall tile has rows
_NODES, _CLASSES = TALL
_ROWS, _COLUMNS = WIDE
# nodes that a thread takes at once
_TURN = 4 * _NODES


class MixerEnd(NamedTuple):
    r"""The weights of the last block and of all that follows it, filled up with zeros to tiles.

    Shapes:
        - patch_norm, feature_norm: ``[2, h]``, weight and bias of LayerNorm
        - patch_first: ``[r, p]``; patch_bias: ``[r]``; patch_second: ``[p', r']``
        - feature_first: ``[h, w]``, transposed; feature_bias: ``[w]``
        - readout: ``[p, h' + w, c]``, from a token and its hidden layer to logits
        - constant: ``[c]``, of the logits

        r' is the width of the patch MLP's hidden layer; r and p' are multiples of 6, h' and w
        of 16 and c of 8.
    """

    patch_norm: Any
    patch_first: Any
    patch_bias: Any
    patch_second: Any
    feature_norm: Any
    feature_first: Any
    feature_bias: Any
    readout: Any
    constant: Any
    eps: Any


def padded(array: Any, *multiples: int) -> Any:
    """Return an array with zeros at its end, so that each side is a multiple of a number.

    Example:
        >>> padded(np.ones((2, 3), dtype=np.float32), 1, 2).tolist()
        [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]]
    """
    sides = tuple(
        -(-size // step) * step for size, step in zip(array.shape, multiples, strict=True)
    )
    if sides == array.shape:
        return np.ascontiguousarray(array)
    filled = np.zeros(sides, dtype=array.dtype)
    filled[tuple(slice(size) for size in array.shape)] = array
    return filled


@njit(cache=True, nogil=True)
def mix_patches(
    table: Any,
    index: Any,
    scale: Any,
    shown: Any,
    labels: Any,
    summary: Any,
    end: Any,
    logits: Any,
    counter: Any,
) -> None:
    """Write the logits of nodes: all their tokens pass through a block, and are read out.

    Several threads may call it with the same arrays at once: each takes some nodes at a time
    until there are none left.

    Args:
        table: ``[n, h]``, vectors of all nodes; h is a multiple of 8.
        index, scale: ``[b, p]``, whose vectors are the tokens, and their factors.
        shown: ``[b, p]``, the label of each token, or ``[0, 0]``.
        labels: ``[C + 1, h]``, the vectors of the labels.
        summary: ``[s, b, h]``, more tokens; s may be zero.
        end: a :class:`MixerEnd` for p + s tokens.
        logits: ``[b, C]``.
        counter: ``[1]``, how many nodes are taken; zero before the first call.
    """
    (count, members), width = index.shape, table.shape[1]
    positions, line, classes = end.readout.shape
    rows, height, inner = len(end.patch_bias), len(end.patch_second), end.patch_second.shape[1]
    channels = len(end.feature_bias)
    broad = line - channels
    # a line is a token and, after it, its hidden layer; tiles reach over the end of a node's
    # lines into those of the next one, which come later
    lines = np.zeros((_NODES * positions + _ROWS, line), np.float32)
    normed = np.zeros((_NODES * positions + _ROWS, broad), np.float32)
    mixed = np.zeros((rows, _COLUMNS), np.float32)
    out = np.zeros((_NODES, classes), np.float32)
    first, second, bias = end.patch_first, end.patch_second, end.patch_bias
    begin = take_turn(counter, _TURN)
    while begin < count:
        for start in range(begin, min(begin + _TURN, count), _NODES):
            here = min(_NODES, count - start)
            for v in range(here):
                base = v * positions
                for q in range(members):
                    source, factor = table[index[start + v, q]], scale[start + v, q]
                    target = lines[base + q]
                    for k in range(width):
                        target[k] = source[k] * factor
                    target[width:broad] = 0
                if shown.size:
                    for q in range(members):
                        label, factor = labels[shown[start + v, q]], scale[start + v, q]
                        target = lines[base + q]
                        for k in range(width):
                            target[k] += label[k] * factor
                for s in range(summary.shape[0]):
                    source, target = summary[s, start + v], lines[base + members + s]
                    for k in range(width):
                        target[k] = source[k]
                    target[width:broad] = 0
                for q in range(0, positions, _ROWS):
                    at = base + q
                    normalise_rows(
                        lines, at * line, line, end.patch_norm, width, end.eps,
                        normed, at * broad, broad,
                    )  # fmt: skip
                for column in range(0, broad, _COLUMNS):
                    for row in range(0, rows, _ROWS):
                        row_tile(
                            first, row * positions, positions,
                            normed, base * broad + column, broad, positions,
                            mixed, row * _COLUMNS, _COLUMNS, bias, row,
                        )  # fmt: skip
                    for row in range(0, height, _ROWS):
                        add_tile(
                            second, row * inner, inner, mixed, 0, _COLUMNS, inner,
                            lines, (base + row) * line + column, line, bias, 0,
                        )  # fmt: skip
                for q in range(0, positions, _ROWS):
                    at = base + q
                    normalise_rows(
                        lines, at * line, line, end.feature_norm, width, end.eps,
                        normed, at * broad, broad,
                    )  # fmt: skip
            for row in range(0, here * positions, _ROWS):
                for column in range(0, channels, _COLUMNS):
                    column_tile(
                        normed, row * broad, broad, end.feature_first, column, channels, width,
                        lines, row * line + broad + column, line, end.feature_bias, column,
                    )  # fmt: skip
            for v in range(_NODES):
                for c in range(classes):
                    out[v, c] = end.constant[c]
            for c in range(0, classes, _CLASSES):
                # all positions of a node are one long line
                add_tall_tile(
                    lines, 0, positions * line, end.readout, c, classes, positions * line,
                    out, c, classes, bias, 0,
                )  # fmt: skip
            for v in range(here):
                for c in range(logits.shape[1]):
                    logits[start + v, c] = out[v, c]
        begin = take_turn(counter, _TURN)
