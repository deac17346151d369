"""The nodes with the largest scores of a row, in order."""

from typing import Any

import numpy as np

from herofilter.jit import compiled


@compiled(nogil=True)
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
    position = stop - 1
    while position > first:
        above = score[position - 1]
        if above > value or (above == value and ids[index[position - 1]] < ids[node]):
            break
        score[position] = above
        index[position] = index[position - 1]
        position -= 1
    score[position] = value
    index[position] = node
    return stop


@compiled(nogil=True)
def offer(
    source: Any,
    u: Any,
    reach: float,
    right: Any,
    ids: Any,
    ego_first: bool,
    stop: int,
    index: Any,
    score: Any,
) -> int:
    """Put node ``u`` where ``reach * right[u]`` belongs in a ranking; return the new stop."""
    value = np.float32(reach * right[u])
    if ego_first and u == source:
        index[0] = u
        score[0] = value
        return stop
    size = index.shape[0]
    if value > 0 and (stop < size or value >= score[size - 1]):
        stop = insert(u, value, int(ego_first), stop, ids, index, score)
    return stop


@compiled(nogil=True)
def rank(
    source: Any,
    nodes: Any,
    positions: Any,
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

    The value of ``nodes[i]`` is ``values[positions[i]]``.

    Scores are rounded to the 32 bits of the result before they are compared, so that sums which
    differ only by the order of addition tie, and the lower id wins. ``most`` is the largest of
    ``right``. Return where the ranking ends.
    """
    stop, size = int(ego_first), index.shape[0]
    for i in range(nodes.shape[0]):
        reach = left * values[positions[i]]
        # most nodes fail the test, which spares reading right
        if nodes[i] == source or stop < size or np.float32(reach * most) >= score[size - 1]:
            stop = offer(source, nodes[i], reach, right, ids, ego_first, stop, index, score)
    return stop
