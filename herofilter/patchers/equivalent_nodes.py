"""Structurally equivalent nodes: those with the same edges, whose summaries are therefore equal."""

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
        - group: ``[n]``, the index of each node's group; groups with more edges come first
        - first: ``[g]``, the first node of each group
        - share: ``[g]``, one over the number of its nodes
    """

    group: Any
    first: Any
    share: Any


def find_equivalent_nodes(matrix: Rows, transposed: Rows) -> EquivalentNodes:
    """Return the groups of nodes whose rows are equal in both matrices.

    Rows with equal hashes are compared value by value, so a hash collision merges nothing.

    Args:
        matrix, transposed: a square matrix and its transpose; columns in order within each row.

    Example:
        >>> star = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=np.float32)
        >>> rows = star.indptr, star.indices, star.data
        >>> find_equivalent_nodes(rows, rows).group.tolist()
        [0, 1, 1]
    """
    count = len(matrix[0]) - 1
    keys = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for crow, col, value in (matrix, transposed):
            _add_keys(crow, col, value.view(np.uint32), keys)
    leader = np.arange(count)
    # of equal keys the smallest node comes first
    _find_leaders(np.argsort(keys, kind="stable"), keys, matrix, transposed, leader)
    first = np.flatnonzero(leader == np.arange(count))
    first = first[np.argsort(-np.diff(matrix[0])[first], kind="stable")]
    group_index = np.empty(count, dtype=np.int64)
    group_index[first] = np.arange(len(first))
    group = group_index[leader]
    size = np.bincount(group, minlength=len(first))
    return EquivalentNodes(group, first, (1 / np.maximum(size, 1)).astype(np.float32))


def merge_equivalent_nodes(matrix: sp.csr_array, nodes: EquivalentNodes) -> sp.csr_array:
    """Return the matrix with one row and one column per group.

    Its product with the mean rows of the groups has the values of the full matrix's product.
    """
    merged = matrix[nodes.first][:, nodes.first]
    merged.data /= nodes.share[merged.indices]
    return merged


@compiled()
def _mix(value: Any) -> Any:
    value += _STEP
    value = (value ^ (value >> _SHIFTS[0])) * _FIRST
    value = (value ^ (value >> _SHIFTS[1])) * _SECOND
    return value ^ (value >> _SHIFTS[2])


@compiled()
def _add_keys(crow: Any, col: Any, bits: Any, keys: Any) -> None:
    """Mix a hash of each row's columns and values into the row's key."""
    for row in range(keys.size):
        total = np.uint64(0)
        for k in range(crow[row], crow[row + 1]):
            total += _mix(_mix(np.uint64(col[k])) + np.uint64(bits[k]))
        keys[row] = _mix(keys[row] + total)


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
def _find_leaders(order: Any, keys: Any, matrix: Any, transposed: Any, leader: Any) -> None:
    """Set ``leader[v]`` to the first node with the rows of v; ``order`` sorts nodes by key."""
    for position in range(1, order.size):
        before, node = leader[order[position - 1]], order[position]
        if (
            keys[before] == keys[node]
            and _are_equal(matrix, before, node)
            and _are_equal(transposed, before, node)
        ):
            leader[node] = before
