"""Nodes whose edges are the same: whatever walks to one of them walks to the others as well."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from herofilter.jit import compiled

# a matrix in compressed rows: crow, col, value
Rows = tuple[Any, Any, Any]
# constants of the splitmix64 generator
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


class EquivalentNodes(NamedTuple):
    """Groups of nodes that have the same edges, with the same weights, to and from the same nodes.

    Shapes:
        - group: ``[n]``, the number of each node's group; groups with more edges come first
        - first: ``[g]``, the first node of each group
        - share: ``[g]``, one over the number of its nodes
    """

    group: Any
    first: Any
    share: Any


def find_equivalent_nodes(ahead: Rows, back: Rows) -> EquivalentNodes:
    """Return the groups of nodes whose rows are equal in both matrices.

    Rows with equal hashes are compared number by number: none are put together by chance.

    Args:
        ahead, back: a square matrix and its transpose; columns in order within each row.

    Example:
        >>> star = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=np.float32)
        >>> rows = star.indptr, star.indices, star.data
        >>> find_equivalent_nodes(rows, rows).group.tolist()
        [0, 1, 1]
    """
    count = len(ahead[0]) - 1
    keys = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for crow, col, value in (ahead, back):
            _add_keys(crow, col, value.view(np.uint32), keys)
    leader = np.arange(count)
    # of equal keys the smallest node comes first
    _follow(np.argsort(keys, kind="stable"), keys, ahead, back, leader)
    first = np.flatnonzero(leader == np.arange(count))
    first = first[np.argsort(-np.diff(ahead[0])[first], kind="stable")]
    number = np.empty(count, dtype=np.int64)
    number[first] = np.arange(len(first))
    group = number[leader]
    size = np.bincount(group, minlength=len(first))
    return EquivalentNodes(group, first, (1 / np.maximum(size, 1)).astype(np.float32))


def merge_equivalent_nodes(matrix: sp.csr_array, twins: EquivalentNodes) -> sp.csr_array:
    """Return the matrix with one row and one column per group.

    What it makes of the means of groups are the values that the whole matrix makes of all nodes.
    """
    merged = matrix[twins.first][:, twins.first]
    merged.data /= twins.share[merged.indices]
    return merged


@compiled()
def _mixed(number: Any) -> Any:
    number += _STEP
    number = (number ^ (number >> _SHIFTS[0])) * _FIRST
    number = (number ^ (number >> _SHIFTS[1])) * _SECOND
    return number ^ (number >> _SHIFTS[2])


@compiled()
def _add_keys(crow: Any, col: Any, bits: Any, keys: Any) -> None:
    """Let the hash of each row's columns and values go into its key."""
    for row in range(keys.size):
        total = np.uint64(0)
        for k in range(crow[row], crow[row + 1]):
            total += _mixed(_mixed(np.uint64(col[k])) + np.uint64(bits[k]))
        keys[row] = _mixed(keys[row] + total)


@compiled()
def _are_equal(rows: Any, one: int, other: int) -> bool:
    crow, col, value = rows
    length = crow[one + 1] - crow[one]
    if crow[other + 1] - crow[other] != length:
        return False
    for k in range(length):
        here, there = crow[one] + k, crow[other] + k
        if col[here] != col[there] or value[here] != value[there]:
            return False
    return True


@compiled()
def _follow(order: Any, keys: Any, ahead: Any, back: Any, leader: Any) -> None:
    """Write the first node that has the rows of each node; nodes of one key are neighbours."""
    for place in range(1, order.size):
        before, node = leader[order[place - 1]], order[place]
        if (
            keys[before] == keys[node]
            and _are_equal(ahead, before, node)
            and _are_equal(back, before, node)
        ):
            leader[node] = before
