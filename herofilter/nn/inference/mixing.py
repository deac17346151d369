"""From patches to logits in one go, a dozen nodes at a time."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from herofilter.nn.inference.columns import HIDDEN, mix_columns
from herofilter.nn.inference.dots import PAIR, add_dots
from herofilter.nn.inference.norms import normalise_rows, row_units
from herofilter.nn.inference.tiles import COLUMNS, ROWS, layer_tile
from herofilter.nn.inference.work_queue import take_turn
from herofilter.spectral.vectors import LANES

# nodes at a time: their tokens fill whole tiles, and they go in pairs
_NODES = 2 * ROWS
# nodes that a thread takes at once
_TURN = 2 * _NODES


class MixerEnd(NamedTuple):
    r"""The weights of the last block and of all that follows it, filled up with zeros to tiles.

    LayerNorm before the feature MLP is part of its first layer: with weights that add up to zero
    for each hidden number a token's mean doesn't matter, and its deviation is a factor.

    Shapes:
        - patch_norm: ``[2, h]``, weight and bias of LayerNorm
        - patch_first, patch_second: ``[r, p, 12]``, transposed and as it is; patch_bias: ``[r]``
          times 12
        - feature_first: ``[h, w]``, transposed; feature_bias: ``[w]``
        - readout: ``[C, p, h + w]``, from tokens and their hidden layers to logits
        - constant: ``[C]``, of the logits
        - eps: of LayerNorm

        w is a multiple of 16.
    """

    patch_norm: Any
    patch_first: Any
    patch_bias: Any
    patch_second: Any
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
def _fold_patch(first: Any, bias: Any, second: Any) -> Any:
    """Return the patch MLP for a dozen hidden numbers at a time."""
    hidden, positions = first.shape
    dozens = -(-hidden // HIDDEN)
    both = np.zeros((2, dozens, positions, HIDDEN), np.float32)
    shifts = np.zeros(dozens * HIDDEN, np.float32)
    for k in range(hidden):
        shifts[k] = bias[k]
        for q in range(positions):
            both[0, k // HIDDEN, q, k % HIDDEN] = first[k, q]
            both[1, k // HIDDEN, q, k % HIDDEN] = second[q, k]
    return both[0], shifts, both[1]


@njit(cache=True, nogil=True)
def _fold_norm(first: Any, bias: Any, norm: Any, channels: int) -> Any:
    """Return the first layer of the feature MLP with the LayerNorm before it."""
    (wide, width), (factors, offsets) = first.shape, norm
    weights, shifts = np.zeros((width, channels), np.float32), np.zeros(channels, np.float32)
    row = np.empty(width, np.float32)
    for j in range(wide):
        total, shift = np.float32(0), bias[j]
        for k in range(width):
            row[k] = first[j, k] * factors[k]
            total += row[k]
            shift += first[j, k] * offsets[k]
        shifts[j], mean = shift, total / np.float32(width)
        for k in range(width):
            weights[k, j] = row[k] - mean
    return weights, shifts


@njit(cache=True, nogil=True)
def fold_weights(weights: Any) -> Any:
    """Return the :class:`MixerEnd` of :class:`MixerWeights`."""
    (first, bias), (second, shift) = weights.feature_first, weights.feature_second
    patch_second, patch_shift = weights.patch_second
    (positions, classes, width), wide = weights.readout.shape, second.shape[1]
    channels = -(-wide // COLUMNS) * COLUMNS
    readout = np.zeros((classes, positions, width + channels), np.float32)
    constant = weights.constant.copy()
    for c in range(classes):
        for q in range(positions):
            line = readout[c, q]
            for k in range(width):
                factor = weights.readout[q, c, k]
                line[k] = factor
                # a bias of the patch MLP goes to all channels of its position, one of the other
                # MLP to its channel
                constant[c] += factor * (patch_shift[q] + shift[k])
                for j in range(wide):
                    line[width + j] += factor * second[k, j]
    norm = np.empty((2, width), np.float32)
    norm[0], norm[1] = weights.patch_norm
    patch = _fold_patch(weights.patch_first[0], weights.patch_first[1], patch_second)
    feature = _fold_norm(first, bias, weights.feature_norm, channels)
    return MixerEnd(
        norm, patch[0], patch[1], patch[2], feature[0], feature[1], readout, constant, weights.eps
    )


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
    classes, positions, line = end.readout.shape
    channels = line - width
    # a line is a token and, after it, its hidden layer; six at a time may reach over the end of a
    # node's lines into those of the next one, which come later
    lines = np.zeros((_NODES * positions + ROWS, line), np.float32)
    units = np.zeros(_NODES * positions + ROWS, np.float32)
    normed = np.zeros((positions + ROWS, width), np.float32)
    out = np.zeros((PAIR, classes), np.float32)
    long, readout = positions * line, end.readout.reshape(classes, -1)
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
                    if shown.size:
                        label = labels[shown[start + v, q]]
                        for k in range(width):
                            target[k] += label[k] * factor
                for s in range(summary.shape[0]):
                    source, target = summary[s, start + v], lines[base + members + s]
                    for k in range(width):
                        target[k] = source[k]
                for q in range(0, positions, ROWS):
                    normalise_rows(
                        lines, (base + q) * line, line, end.patch_norm, width, end.eps,
                        normed, q * width, width,
                    )  # fmt: skip
                for column in range(0, width, LANES):
                    for dozen in range(len(end.patch_first)):
                        mix_columns(
                            end.patch_first, end.patch_second, dozen * positions * HIDDEN,
                            end.patch_bias, dozen * HIDDEN,
                            normed, column, width, positions, lines, base * line + column, line,
                        )  # fmt: skip
                for row in range(base, base + positions, ROWS):
                    row_units(lines, row * line, line, width, end.eps, units, row)
            for row in range(0, here * positions, ROWS):
                for column in range(0, channels, COLUMNS):
                    layer_tile(
                        lines, row * line, line, end.feature_first, column, channels, width,
                        lines, row * line + width + column, line,
                        units, row, end.feature_bias, column,
                    )  # fmt: skip
            for v in range(0, here, PAIR):
                out[:] = end.constant
                # all positions of a node are one long line
                add_dots(lines, v * long, long, readout, long, out, 0, classes)
                for w in range(min(PAIR, here - v)):
                    logits[start + v + w] = out[w]
        begin = take_turn(counter, _TURN)
