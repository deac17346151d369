"""The last mixer block and the readout as one compiled loop over chunks of nodes."""

from typing import Any, NamedTuple

import numpy as np

from herofilter.jit import compiled

# nodes computed at a time, so few that their tokens stay in the cache
CHUNK = 32
# sums may be reordered into vectors; infinities and NaN are kept
_FAST = {"reassoc", "contract"}


class MixerEnd(NamedTuple):
    """The weights of the last block and of the linear maps that follow it, all contiguous.

    LayerNorm before the feature MLP is part of its first layer: the columns of ``feature_first``
    sum to zero, so that a token's mean has no effect, and its deviation is a factor.

    Shapes:
        - patch_norm: ``[2, h]``, weight and bias of LayerNorm
        - patch_first, patch_bias, patch_second: ``[r, p]``, ``[r]`` and ``[p, r]``
        - feature_first, feature_bias: ``[h, w]`` and ``[w]``
        - readout: ``[p·(h + w), C]``, from each token and its hidden layer of the feature MLP to
          logits
        - constant: ``[C]``, added to the logits
        - eps: of LayerNorm
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


@compiled(nogil=True, fastmath=_FAST, error_model="numpy")
def _mean_and_scale(row: Any, eps: Any) -> Any:
    """Return the mean of a row, and one over its standard deviation."""
    width, total, squares = np.float32(row.size), np.float32(0), np.float32(0)
    for k in range(row.size):
        total += row[k]
    mean = total / width
    for k in range(row.size):
        squares += (row[k] - mean) * (row[k] - mean)
    return mean, np.float32(1) / np.sqrt(squares / width + eps)


@compiled(nogil=True, fastmath=_FAST, error_model="numpy")
def _normalise(rows: Any, norm: Any, eps: Any, out: Any) -> None:
    """Write LayerNorm of each row."""
    weight, bias = norm[0], norm[1]
    for i in range(len(rows)):
        row, target = rows[i], out[i]
        mean, scale = _mean_and_scale(row, eps)
        for k in range(row.size):
            target[k] = (row[k] - mean) * scale * weight[k] + bias[k]


@compiled(nogil=True)
def _add_and_join(tokens: Any, terms: Any, step: int, joined: Any) -> None:
    """Add the terms to the tokens, and write each node's tokens, ``step`` apart, into its row."""
    for q in range(len(tokens)):
        for v in range(tokens.shape[1]):
            token, term, target = tokens[q, v], terms[q, v], joined[v, q * step :]
            for k in range(token.size):
                token[k] += term[k]
                target[k] = token[k]


@compiled(nogil=True)
def _bias_and_relu(rows: Any, bias: Any) -> None:
    """Add one bias to each row and apply ReLU, in place."""
    for i in range(len(rows)):
        row, shift = rows[i], bias[i]
        for k in range(row.size):
            value = row[k] + shift
            row[k] = np.float32(0) if value < 0 else value


@compiled(nogil=True, fastmath=_FAST, error_model="numpy")
def _activate_and_join(
    features: Any, tokens: Any, eps: Any, bias: Any, step: int, joined: Any
) -> None:
    """Write ReLU of features, scaled by their token's LayerNorm, beside the token in its row."""
    width = tokens.shape[2]
    for q in range(len(tokens)):
        for v in range(tokens.shape[1]):
            row, target = features[q, v], joined[v, q * step + width :]
            _, scale = _mean_and_scale(tokens[q, v], eps)
            for k in range(row.size):
                value = row[k] * scale + bias[k]
                target[k] = np.float32(0) if value < 0 else value


@compiled(nogil=True)
def _gather(
    table: Any,
    index: Any,
    scale: Any,
    shown: Any,
    labels: Any,
    summary: Any,
    begin: int,
    count: int,
    tokens: Any,
) -> None:
    """Write the tokens of ``count`` nodes from ``begin`` on: ``[p, chunk, h]``."""
    members = index.shape[1]
    for v in range(count):
        for q in range(members):
            source, factor, target = table[index[begin + v, q]], scale[begin + v, q], tokens[q, v]
            for k in range(target.size):
                target[k] = source[k] * factor
            if shown.size:
                label = labels[shown[begin + v, q]]
                for k in range(target.size):
                    target[k] += label[k] * factor
        for s in range(len(summary)):
            tokens[members + s, v] = summary[s, begin + v]


@compiled(nogil=True)
def mix_nodes(
    end: Any,
    first: int,
    stop: int,
    logits: Any,
    table: Any,
    index: Any,
    scale: Any,
    shown: Any,
    labels: Any,
    summary: Any,
) -> None:
    """Write the logits of the nodes from ``first`` to ``stop``.

    Their tokens are gathered, pass through the last mixer block and are read out. Matrix products
    are those of BLAS, which must be held to one thread (:func:`~herofilter.parallel.blas.
    one_blas_thread`); several threads call this for different nodes instead. All chunks of a batch
    have products of the same shapes, so that the number of threads has no influence; BLAS may round
    a node's logits differently in another position of a chunk.

    Args:
        end: a :class:`MixerEnd` for p + s positions.
        first, stop: a range of the b nodes; ``first`` is a multiple of ``CHUNK``.
        logits: ``[b, C]``.
        table: ``[n, h]``, vectors of all nodes.
        index, scale: ``[b, p]``, the nodes whose vectors are the tokens, and factors of these.
        shown: ``[b, p]``, the label of each token, or ``[0, 0]``.
        labels: ``[C + 1, h]``, the vectors of the labels.
        summary: ``[s, b, h]``, more tokens; s may be zero.
    """
    (hidden, positions), width = end.patch_first.shape, table.shape[1]
    wide, classes, chunk = end.feature_bias.size, end.constant.size, min(CHUNK, len(index))
    tokens = np.zeros((positions, chunk, width), np.float32)
    normed = np.empty((positions, chunk, width), np.float32)
    mixed = np.empty((hidden, chunk * width), np.float32)
    features = np.empty((positions, chunk, wide), np.float32)
    # one row per node, so that the readout is one product
    step = width + wide
    joined = np.empty((chunk, positions * step), np.float32)
    out = np.empty((chunk, classes), np.float32)
    # [p, chunk, h] -> [p·chunk, h], one row per token, and [p, chunk·h], one row per position
    rows, normed_rows = tokens.reshape(-1, width), normed.reshape(-1, width)
    normed_positions, feature_rows = normed.reshape(positions, -1), features.reshape(-1, wide)
    for begin in range(first, stop, chunk):
        count = min(chunk, stop - begin)
        _gather(table, index, scale, shown, labels, summary, begin, count, tokens)
        _normalise(rows, end.patch_norm, end.eps, normed_rows)
        np.dot(end.patch_first, normed_positions, mixed)
        _bias_and_relu(mixed, end.patch_bias)
        np.dot(end.patch_second, mixed, normed_positions)
        _add_and_join(tokens, normed, step, joined)
        np.dot(rows, end.feature_first, feature_rows)
        _activate_and_join(features, tokens, end.eps, end.feature_bias, step, joined)
        np.dot(joined, end.readout, out)
        for v in range(count):
            for c in range(classes):
                logits[begin + v, c] = out[v, c] + end.constant[c]
