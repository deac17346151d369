"""The best nodes of a row, in order: shared by every way to score them."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def insert(node: int, value: float, first: int, stop: int, ids: Any, index: Any, score: Any) -> int:
    """Put ``node`` into the ranking ``index[first:stop]``, lower ids first; return the new stop."""
    if stop < index.shape[0]:
        stop += 1
    elif (
        stop == first
        or value < score[stop - 1]
        or (value == score[stop - 1] and ids[node] > ids[index[stop - 1]])
    ):
        return stop
    place = stop - 1
    while place > first:
        above = score[place - 1]
        if above > value or (above == value and ids[index[place - 1]] < ids[node]):
            break
        score[place] = above
        index[place] = index[place - 1]
        place -= 1
    score[place] = value
    index[place] = node
    return stop


@njit(cache=True, nogil=True)
def rank(
    source: Any,
    nodes: Any,
    places: Any,
    values: Any,
    left: float,
    right: Any,
    most: float,
    ids: Any,
    ego_first: bool,
    index: Any,
    score: Any,
) -> int:
    """Write the best of ``left * value * right[u]`` over the nodes u into one row.

    The value of ``nodes[i]`` is ``values[places[i]]``.

    Scores are rounded to the 32 bits of the result before they are compared, so that sums which
    differ only by the order of addition tie, and the lower id wins. ``most`` is the largest of
    ``right``. Return where the ranking ends.
    """
    first = 1 if ego_first else 0
    stop, size = first, index.shape[0]
    for i in range(nodes.shape[0]):
        u = nodes[i]
        reach = left * values[places[i]]
        if ego_first and u == source:
            index[0] = u
            score[0] = np.float32(reach * right[u])
        elif stop < size or np.float32(reach * most) >= score[size - 1]:
            # most nodes fail the test above, which spares a look into right
            value = np.float32(reach * right[u])
            if value > 0 and (stop < size or value >= score[size - 1]):
                stop = insert(u, value, first, stop, ids, index, score)
    return stop
