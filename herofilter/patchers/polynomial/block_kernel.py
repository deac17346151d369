r"""Rows of sums of matrix products, for a block of source nodes at a time.

Row v of :math:`\sum_s \theta_s \mathbf{X}_s` is computed as a column. A block of sources has one
table [n, BLOCK] per product :math:`\mathbf{X}_s`; each table comes from an earlier one by a sparse
product. Rows that no source of the block has reached are zero and cost nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from herofilter.jit import compiled
from herofilter.patchers.polynomial.selection import SMALLEST, STEPS, insert_ranked, ranking_key

# a constant: the compiler then vectorises the loops over the columns of a block
BLOCK = 64
# so many rows are added at a time, which spares reading the sum as often
GROUP = 4
_ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in (1, 2, 3, GROUP))


class BlockSpace(NamedTuple):
    """The scratch arrays of one thread.

    ``tables`` [s, n, BLOCK] and ``scores`` [f, n, BLOCK]; a row of a table is zero where ``live``
    [s, n] is False. ``seen`` [n] are the rows that any table has.
    """

    tables: np.ndarray
    live: np.ndarray
    seen: np.ndarray
    scores: np.ndarray


def block_space(num_tables: int, num_filters: int, num_nodes: int) -> BlockSpace:
    """Return the arrays of one thread, ready for the first block."""
    return BlockSpace(
        np.zeros((num_tables, num_nodes, BLOCK), np.float32),
        np.zeros((num_tables, num_nodes), np.bool_),
        np.zeros(num_nodes, np.bool_),
        np.zeros((num_filters, num_nodes, BLOCK), np.float32),
    )


@compiled(nogil=True)
def fill_table(
    matrix: Any,
    factor: Any,
    source: Any,
    source_live: Any,
    subtract: bool,
    before: Any,
    before_live: Any,
    target: Any,
    target_live: Any,
    seen: Any,
) -> None:
    """Write ``target = factor * matrix @ source``, less ``before`` if ``subtract``."""
    crow, col, value = matrix
    # unsigned positions spare the test for negative ones, and indexing by two of them spares
    # counting the references to a row
    for position in range(crow.size - 1):
        row = np.uint64(position)
        first, stop = np.uint64(crow[row]), np.uint64(crow[row + _ONE])
        reached = subtract and before_live[row]
        near = first
        while near < stop and not reached:
            reached = source_live[np.uint64(col[near])]
            near += _ONE
        if reached and subtract:
            for k in range(BLOCK):
                target[row, np.uint64(k)] = -before[row, np.uint64(k)]
        elif reached or target_live[row]:
            for k in range(BLOCK):
                target[row, np.uint64(k)] = 0
        target_live[row] = reached
        if not reached:
            continue
        seen[row] = True
        for entry in range(first, stop, _FOUR):
            e = np.uint64(entry)
            g, h = np.uint64(col[e]), np.uint64(col[e + _ONE])
            i, j = np.uint64(col[e + _TWO]), np.uint64(col[e + _THREE])
            a, b = factor * value[e], factor * value[e + _ONE]
            c, d = factor * value[e + _TWO], factor * value[e + _THREE]
            for column in range(BLOCK):
                at = np.uint64(column)
                target[row, at] += (a * source[g, at] + b * source[h, at]) + (
                    c * source[i, at] + d * source[j, at]
                )


@compiled(nogil=True)
def sum_tables(space: Any, which: Any, coefficients: Any, peak: Any) -> None:
    """Write the sum of each filter, and its largest modulus per column into ``peak`` [f, BLOCK].

    Column s of ``coefficients`` is the weight of table ``which[s]``; their number is a multiple of
    GROUP.
    """
    tables, scores = space.tables, space.scores
    peak[:] = 0
    for position in range(space.seen.size):
        row = np.uint64(position)
        if not space.seen[row]:
            continue
        for f in range(coefficients.shape[0]):
            for k in range(BLOCK):
                scores[f, row, k] = 0
            for s in range(0, which.size, GROUP):
                g, h, i, j = which[s], which[s + 1], which[s + 2], which[s + 3]
                a, b = coefficients[f, s], coefficients[f, s + 1]
                c, d = coefficients[f, s + 2], coefficients[f, s + 3]
                for k in range(BLOCK):
                    scores[f, row, k] += (a * tables[g, row, k] + b * tables[h, row, k]) + (
                        c * tables[i, row, k] + d * tables[j, row, k]
                    )
            for k in range(BLOCK):
                peak[f, k] = max(peak[f, k], abs(scores[f, row, k]))


@compiled(nogil=True)
def choose_rows(
    space: Any,
    f: int,
    ids: Any,
    sources: Any,
    exclude_self: bool,
    peak: Any,
    index: Any,
    score: Any,
) -> None:
    """Write the best entries of filter ``f`` for each source, as positions, into [m, w]."""
    size, scores = index.shape[1], space.scores
    # what a score must exceed to be looked at more closely
    bar = np.full(BLOCK, np.inf, np.float32)
    filled = np.zeros(BLOCK, np.int64)
    if size > 0:
        bar[: sources.size] = -np.inf
    for row in range(space.seen.size):
        if not space.seen[row]:
            continue
        hits = 0
        for k in range(BLOCK):
            hits += int(scores[f, row, k] > bar[k])
        if hits == 0:
            continue
        for k in range(sources.size):
            value = scores[f, row, k]
            if value <= bar[k] or (exclude_self and sources[k] == row):
                continue
            key = ranking_key(value, peak[k])
            filled[k] = insert_ranked(row, value, key, peak[k], ids, filled[k], index[k], score[k])
            if filled[k] == size:
                last = ranking_key(score[k, size - 1], peak[k])
                bar[k] = (last - np.float32(1)) * (max(peak[k], SMALLEST) / STEPS)


@compiled(nogil=True)
def fill_block(
    matrices: Any,
    steps: Any,
    which: Any,
    coefficients: Any,
    ids: Any,
    sources: Any,
    exclude_self: bool,
    starts: Any,
    space: Any,
    index: Any,
    score: Any,
    with_basis: bool,
    basis: Any,
) -> None:
    """Fill the rows of at most BLOCK sources.

    Args:
        matrices: two matrices, each ``(crow, col, value)``; the length of each row is a multiple of
            GROUP.
        steps: ``[s - 1, 3]``; table i + 1 is the product of matrix ``steps[i, 0]`` with table
            ``steps[i, 1]``, and where ``steps[i, 2]`` isn't -1, twice that less table
            ``steps[i, 2]``. Table 0 has the unit vectors of the sources.
        which, coefficients: the tables that are summed and their weights ``[f, s]`` in each filter.
        ids: ``[n]``, the nodes at the positions; of two equal ones the lower comes first.
        sources: the positions of the block's nodes.
        exclude_self: leave the source itself out.
        starts: ``[f + 1]``, where the columns of each filter start.
        space: the scratch arrays.
        index, score: ``[m, w]``, the result; positions, -1 and 0 beforehand.
        with_basis, basis: whether to write ``[m, w, s]``, the chosen entries of all tables.
    """
    tables, live, seen = space.tables, space.live, space.seen
    for row in range(seen.size):
        if live[0, row]:
            tables[0, row, :] = 0
            live[0, row] = False
        seen[row] = False
    for k in range(sources.size):
        tables[0, sources[k], k] = 1
        live[0, sources[k]] = True
        seen[sources[k]] = True
    for i in range(steps.shape[0]):
        source, before = steps[i, 1], steps[i, 2]
        fill_table(
            matrices[steps[i, 0]],
            np.float32(2 if before >= 0 else 1),
            tables[source],
            live[source],
            before >= 0,
            tables[before],
            live[before],
            tables[i + 1],
            live[i + 1],
            seen,
        )
    peak = np.zeros((coefficients.shape[0], BLOCK), np.float32)
    sum_tables(space, which, coefficients, peak)
    for f in range(coefficients.shape[0]):
        part = slice(starts[f], starts[f + 1])
        choose_rows(space, f, ids, sources, exclude_self, peak[f], index[:, part], score[:, part])
    if with_basis:
        for k in range(sources.size):
            for j in range(index.shape[1]):
                if index[k, j] >= 0:
                    for s in range(tables.shape[0]):
                        basis[k, j, s] = tables[s, index[k, j], k]
