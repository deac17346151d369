"""The largest entries of a row, ranked by scores that are rounded to hide their last bits."""

from typing import Any

import numpy as np

from herofilter.jit import compiled

# scores are compared in steps of the row's largest modulus divided by this
STEPS = np.float32(2**18)
SMALLEST = np.float32(1e-30)


@compiled(nogil=True)
def ranking_key(value: Any, peak: Any) -> Any:
    """Return a score in steps of :math:`2^{-18}` of ``peak``, the row's largest modulus."""
    return np.float32(np.rint(value / max(peak, SMALLEST) * STEPS))


@compiled(nogil=True)
def insert_ranked(
    node: Any, value: Any, key: Any, peak: Any, ids: Any, filled: int, index: Any, score: Any
) -> Any:
    """Put a node into a ranking by key, lower ids first; return how many entries it has.

    ``index`` and ``score`` [w] have ``filled`` entries so far; a node that doesn't belong to the
    best w is dropped, and so is one whose key is zero.
    """
    size = index.shape[0]
    if key == 0 or size == 0:
        return filled
    position = min(filled, size - 1)
    if filled == size:
        last = ranking_key(score[position], peak)
        if key < last or (key == last and ids[node] > ids[index[position]]):
            return filled
    while position > 0:
        above = ranking_key(score[position - 1], peak)
        if above > key or (above == key and ids[index[position - 1]] < ids[node]):
            break
        index[position] = index[position - 1]
        score[position] = score[position - 1]
        position -= 1
    index[position] = node
    score[position] = value
    return min(filled + 1, size)
