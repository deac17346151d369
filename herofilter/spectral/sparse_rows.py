"""Products of a sparse matrix in compressed rows with a dense one, compiled."""

from collections.abc import Callable
from typing import Any

import numpy as np

from herofilter.jit import compiled

# dense matrices have a multiple of so many columns, so that the compiler's vectors fill them
LANES = 8
# columns that sum_sparse_products computes at a time
COLUMNS = 32
_WIDE = 64
_ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in (1, 2, 3, 4))


def _product(columns: int) -> Callable[..., None]:
    """Return a function that writes so many columns of a product, from column ``begin`` on.

    As a constant, their number lets the compiler unroll the loops over them.
    """

    # "contract": a product and a sum are one instruction where the processor has it
    @compiled(nogil=True, fastmath={"contract"})
    def multiply(crow: Any, col: Any, value: Any, dense: Any, begin: int, out: Any) -> None:
        at = np.uint64(begin)
        for position in range(crow.size - 1):
            # unsigned positions spare the test for negative ones
            row = np.uint64(position)
            entry, stop = np.uint64(crow[row]), np.uint64(crow[row + _ONE])
            for column in range(columns):
                out[row, at + np.uint64(column)] = 0
            # four at a time spare reading the sum as often; they are added one by one
            while entry + _FOUR <= stop:
                g, h = np.uint64(col[entry]), np.uint64(col[entry + _ONE])
                i, j = np.uint64(col[entry + _TWO]), np.uint64(col[entry + _THREE])
                a, b = value[entry], value[entry + _ONE]
                c, d = value[entry + _TWO], value[entry + _THREE]
                for column in range(columns):
                    k = at + np.uint64(column)
                    total = (out[row, k] + a * dense[g, k]) + b * dense[h, k]
                    out[row, k] = (total + c * dense[i, k]) + d * dense[j, k]
                entry += _FOUR
            while entry < stop:
                g, a = np.uint64(col[entry]), value[entry]
                for column in range(columns):
                    k = at + np.uint64(column)
                    out[row, k] += a * dense[g, k]
                entry += _ONE

    function: Callable[..., None] = multiply
    return function


_wide_product, _product_of_columns, _narrow_product = map(_product, (_WIDE, COLUMNS, LANES))


@compiled(nogil=True)
def multiply_rows(crow: Any, col: Any, value: Any, dense: Any, out: Any) -> None:
    """Write the product of a CSR matrix and a dense one.

    Args:
        crow, col, value: the matrix; that its columns are below n isn't checked.
        dense: ``[n, h]``, contiguous; h is a multiple of 8.
        out: ``[m, h]``, contiguous.
    """
    width = dense.shape[1]
    begin = 0
    while begin + _WIDE <= width:
        _wide_product(crow, col, value, dense, begin, out)
        begin += _WIDE
    while begin + COLUMNS <= width:
        _product_of_columns(crow, col, value, dense, begin, out)
        begin += COLUMNS
    while begin < width:
        _narrow_product(crow, col, value, dense, begin, out)
        begin += LANES


@compiled(nogil=True)
def layer_columns(
    crow: Any, col: Any, value: Any, weight: Any, bias: Any, first: int, out: Any
) -> None:
    """Write 32 columns of ReLU(X·W + b) for a sparse matrix X.

    Args:
        crow, col, value: X, as for :func:`multiply_rows`.
        weight, bias: ``[f, h]`` and ``[h]``; h is a multiple of 8.
        first: the first of the 32 columns; those beyond the last are skipped.
        out: ``[m, h]``, of which these columns are written.
    """
    stop = min(first + COLUMNS, weight.shape[1])
    if stop == first + COLUMNS:
        _product_of_columns(crow, col, value, weight, first, out)
    else:
        for column in range(first, stop, LANES):
            _narrow_product(crow, col, value, weight, column, out)
    for row in range(out.shape[0]):
        line = out[row]
        for k in range(first, stop):
            found = line[k] + bias[k]
            line[k] = np.float32(0) if found < 0 else found


@compiled(nogil=True)
def sum_sparse_products(
    matrix: Any,
    transposed: Any,
    group: Any,
    leader: Any,
    share: Any,
    steps: Any,
    factors: Any,
    dense: Any,
    first: int,
    out: Any,
) -> None:
    """Write weighted sums of products such as N·Nᵀ·H, for 32 columns of H.

    Rows of N may stand for groups of equivalent nodes; then H is replaced by the group means.

    Args:
        matrix, transposed: N and Nᵀ, square, each ``(crow, col, value)`` in compressed rows.
        group: ``[n]``, the row that each node belongs to.
        leader: ``[g]``, a node of each row.
        share: ``[g]``, one over the number of nodes of each row.
        steps: ``[w, 3]``, for each product whether it is with ``transposed``, the table that is
            multiplied, and the table that is written; table 0 is H, and isn't written to.
        factors: ``[w, r]``, the weight of each product in each of the r sums.
        dense: ``[n, h]``, the matrix H.
        first: the first of the 32 columns; those beyond the last are skipped.
        out: ``[r, n, h]``, of which these columns are written.
    """
    count = share.size
    width = min(COLUMNS, dense.shape[1] - first)
    tables = np.empty((1 + steps[:, 2].max(), count, COLUMNS), np.float32)
    tables[0] = 0
    for node in range(group.size):
        line, part = tables[0, group[node]], share[group[node]]
        for k in range(width):
            line[k] += part * dense[node, first + k]
    out[:, :, first : first + width] = 0
    for step in range(steps.shape[0]):
        crow, col, value = transposed if steps[step, 0] else matrix
        source, target = tables[steps[step, 1]], tables[steps[step, 2]]
        _product_of_columns(crow, col, value, source, 0, target)
        for row in range(count):
            for relation in range(out.shape[0]):
                factor = factors[step, relation]
                if factor != 0:
                    line, total = target[row], out[relation, leader[row]]
                    for k in range(width):
                        total[first + k] += factor * line[k]
    if count == group.size:
        return
    for relation in range(out.shape[0]):
        for node in range(group.size):
            source = leader[group[node]]
            if source != node:
                for k in range(first, first + width):
                    out[relation, node, k] = out[relation, source, k]
