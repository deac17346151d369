"""The best of the nodes that a source has touched, and whether their choice is certified."""

from typing import Any

import numpy as np

from herofilter.jit import compiled
from herofilter.patchers.polynomial.selection import STEPS, insert_ranked, ranking_key


@compiled(nogil=True)
def rank_local(
    graph: Any, space: Any, rule: Any, f: int, count: int, sums: Any, index: Any, score: Any
) -> Any:
    """Write the best of the touched nodes; return how many, and the largest modulus of all."""
    index[:] = -1
    score[:] = 0.0
    peak = np.float32(0)
    scale = graph.left[space.nodes[0]]
    for p in range(count):
        total = 0.0
        for k in range(rule.weights.shape[1]):
            total += rule.weights[f, k] * space.values[p, k]
        sums[p] = np.float32(scale * total * graph.right[space.nodes[p]])
        peak = max(peak, abs(sums[p]))
    filled, size = 0, index.shape[0]
    bar = np.float32(-np.inf)
    for p in range(int(rule.exclude_self), count):
        if sums[p] <= bar:
            continue
        key = ranking_key(sums[p], peak)
        filled = insert_ranked(space.nodes[p], sums[p], key, peak, graph.ids, filled, index, score)
        if filled == size and size > 0:
            bar = score[size - 1] - np.float32(2) * peak / STEPS
    return filled, peak


@compiled(nogil=True)
def certify_local(
    graph: Any,
    space: Any,
    rule: Any,
    f: int,
    count: int,
    sums: Any,
    filled: int,
    peak: Any,
    left_out: Any,
    index: Any,
    score: Any,
) -> bool:
    """Return whether no node left out exceeds one that was chosen by more than the margin.

    That is meant of exact scores, up to the step to which scores are rounded.
    """
    bound = 0.0
    for k in range(left_out.size):
        bound += rule.factors[f, k] * np.sqrt(left_out[k])
    if bound == 0.0 or index.shape[0] == 0:
        return True
    if filled < index.shape[0]:
        return False
    lowest = score[filled - 1]
    least = lowest - bound
    bar = least + rule.margin * max(least, 0.0) + peak / STEPS
    # of nodes that were never touched it is only known that the error is their score
    if bound > bar:
        return False
    key, last = ranking_key(lowest, peak), graph.ids[index[filled - 1]]
    for p in range(int(rule.exclude_self), count):
        if sums[p] + bound > bar:
            other = ranking_key(sums[p], peak)
            if other < key or (other == key and graph.ids[space.nodes[p]] > last):
                return False
    return True
