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
_TURN = 2 * _NODES


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


class MixerWeights(NamedTuple):
    """The weights of a block, and of the linear map from all its tokens to the logits.

    Shapes:
        - patch_norm, feature_norm, patch_first, patch_second, feature_first, feature_second:
          weight and bias, as torch has them
        - readout: ``[p, C, h]``, the map of each position; constant: ``[C]``
    """

    patch_norm: Any
    patch_first: Any
    patch_second: Any
    feature_norm: Any
    feature_first: Any
    feature_second: Any
    readout: Any
    constant: Any
    eps: Any


@njit(cache=True, nogil=True)
def _padded(array: Any, rows: int, columns: int) -> Any:
    """Return a matrix with zeros at its end, so that its sides are multiples of two numbers."""
    height, width = array.shape
    filled = np.zeros((-(-height // rows) * rows, -(-width // columns) * columns), np.float32)
    filled[:height, :width] = array
    return filled


@njit(cache=True, nogil=True)
def fold_weights(weights: Any) -> Any:
    """Return the :class:`MixerEnd` of :class:`MixerWeights`."""
    (patch_first, patch_bias), (patch_second, patch_shift) = (
        weights.patch_first,
        weights.patch_second,
    )
    (first, bias), (second, shift) = weights.feature_first, weights.feature_second
    (positions, classes, width), wide = weights.readout.shape, second.shape[1]
    broad = -(-width // _COLUMNS) * _COLUMNS
    line = broad - (-wide // _COLUMNS) * _COLUMNS
    readout = np.zeros((positions, line, -(-classes // _CLASSES) * _CLASSES), np.float32)
    constant = np.zeros(readout.shape[2], np.float32)
    constant[:classes] = weights.constant
    row = np.empty(wide, np.float32)
    for q in range(positions):
        for c in range(classes):
            row[:] = 0
            for k in range(width):
                factor = weights.readout[q, c, k]
                readout[q, k, c] = factor
                # a bias of the patch MLP goes to all channels of its position, one of the other
                # MLP to its channel
                constant[c] += factor * (patch_shift[q] + shift[k])
                for j in range(wide):
                    row[j] += factor * second[k, j]
            for j in range(wide):
                readout[q, broad + j, c] = row[j]
    norms = np.empty((2, 2, width), np.float32)
    for number in range(2):
        norms[0, number] = weights.patch_norm[number]
        norms[1, number] = weights.feature_norm[number]
    return MixerEnd(
        norms[0],
        _padded(patch_first, _ROWS, 1),
        _padded(patch_bias.reshape(-1, 1), _ROWS, 1)[:, 0],
        _padded(patch_second, _ROWS, 1),
        norms[1],
        _padded(first.T, 1, _COLUMNS),
        _padded(bias.reshape(1, -1), 1, _COLUMNS)[0],
        readout,
        constant,
        weights.eps,
    )


@njit(cache=True, nogil=True)
def _normalise(lines: Any, base: int, count: int, norm: Any, eps: Any, normed: Any) -> None:
    """Write the LayerNorm of a node's tokens."""
    line, broad, width = lines.shape[1], normed.shape[1], norm.shape[1]
    for row in range(base, base + count, _ROWS):
        normalise_rows(lines, row * line, line, norm, width, eps, normed, row * broad, broad)


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
                _normalise(lines, base, positions, end.patch_norm, end.eps, normed)
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
                _normalise(lines, base, positions, end.feature_norm, end.eps, normed)
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
