"""Products of a sparse matrix in compressed rows with a dense one, compiled."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from herofilter.jit import compiled
from herofilter.spectral.simd import (
    INDEX,
    LANES,
    ZERO,
    accumulate,
    broadcast,
    constant,
    load,
    multiply_add,
    start_of,
    store,
)


def _sum(vectors: int, fixed_width: bool = False) -> Callable[..., Any]:
    """Return a function that writes a weighted sum of rows, over ``8 * vectors`` columns.

    With ``fixed_width`` the dense matrix must have exactly these columns; its argument ``width``
    is ignored.
    """

    @intrinsic
    def compiled(
        context: Any,
        col: Any,
        value: Any,
        first: Any,
        stop: Any,
        dense: Any,
        width: Any,
        begin: Any,
        out: Any,
        target: Any,
    ) -> Any:
        integer = types.int64
        operands = [col, value, integer, integer, dense, integer, integer, out, integer]

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            columns, values, rows, outs = (
                start_of(context, builder, signature.args[which], given[which])
                for which in (0, 1, 4, 7)
            )
            begin = builder.gep(rows, [given[6]])
            # a constant stride saves a tenth of the time
            stride = constant(LANES * vectors) if fixed_width else given[5]

            def step(position: Any, held: Any) -> Any:
                column = builder.load(builder.gep(columns, [position]))
                if column.type != INDEX:
                    column = builder.sext(column, INDEX)
                row = builder.gep(begin, [builder.mul(column, stride)])
                terms = [
                    load(builder, builder.gep(row, [constant(LANES * v)])) for v in range(vectors)
                ]
                factor = broadcast(builder, builder.load(builder.gep(values, [position])))
                return [
                    multiply_add(builder, factor, *pair) for pair in zip(terms, held, strict=True)
                ]

            totals = accumulate(builder, given[2], given[3], [ZERO] * vectors, step)
            for v, total in enumerate(totals):
                offset = builder.add(given[8], constant(LANES * v))
                store(builder, total, builder.gep(outs, [offset]))
            return context.get_dummy_value()

        return types.void(*operands), generate

    def plain(
        col: Any,
        value: Any,
        first: int,
        stop: int,
        dense: Any,
        width: int,
        begin: int,
        out: Any,
        target: int,
    ) -> None:
        rows = dense[col[first:stop], begin : begin + LANES * vectors]
        out.reshape(-1)[target : target + LANES * vectors] = value[first:stop] @ rows

    return plain if config.DISABLE_JIT else compiled


_sum_8, _sum_4, _sum_1 = _sum(8), _sum(4), _sum(1)
# columns that sum_sparse_products computes at a time
COLUMNS = 4 * LANES
_sum_fixed_width = _sum(4, fixed_width=True)


@compiled(nogil=True)
def multiply_rows(crow: Any, col: Any, value: Any, dense: Any, out: Any) -> None:
    """Write the product of a CSR matrix and a dense one.

    Args:
        crow, col, value: the matrix; that its columns are below n isn't checked.
        dense: ``[n, h]``, contiguous; h is a multiple of 8.
        out: ``[m, h]``, contiguous.
    """
    width = dense.shape[1]
    for row in range(crow.size - 1):
        first, stop, target = crow[row], crow[row + 1], row * width
        begin = 0
        while begin + 64 <= width:
            _sum_8(col, value, first, stop, dense, width, begin, out, target + begin)
            begin += 64
        while begin + 32 <= width:
            _sum_4(col, value, first, stop, dense, width, begin, out, target + begin)
            begin += 32
        while begin < width:
            _sum_1(col, value, first, stop, dense, width, begin, out, target + begin)
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
    width = weight.shape[1]
    stop = min(first + COLUMNS, width)
    for row in range(crow.size - 1):
        begin, end, target = crow[row], crow[row + 1], row * width
        if stop == first + COLUMNS:
            _sum_4(col, value, begin, end, weight, width, first, out, target + first)
        else:
            for column in range(first, stop, LANES):
                _sum_1(col, value, begin, end, weight, width, column, out, target + column)
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
        for row in range(count):
            at = row * COLUMNS
            _sum_fixed_width(col, value, crow[row], crow[row + 1], source, COLUMNS, 0, target, at)
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
