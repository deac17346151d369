"""Products of a sparse matrix with rows that lie one after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from herofilter.jit import compiled
from herofilter.spectral.simd import (
    LANES,
    PLACE,
    ZERO,
    add_up,
    load,
    multiply_add,
    place,
    spread,
    start_of,
    store,
)


def _sum(vectors: int, fixed_width: bool = False) -> Callable[..., Any]:
    """Return what writes a weighted sum of rows, as many vectors of them at once.

    With ``fixed_width`` the rows have no more columns than that, whatever it is told.
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
        number = types.int64
        operands = [col, value, number, number, dense, number, number, out, number]

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            columns, values, rows, outs = (
                start_of(context, builder, signature.args[which], given[which])
                for which in (0, 1, 4, 7)
            )
            begin = builder.gep(rows, [given[6]])
            # a number known beforehand spares a tenth of the time
            stride = place(LANES * vectors) if fixed_width else given[5]

            def step(position: Any, held: Any) -> Any:
                column = builder.load(builder.gep(columns, [position]))
                if column.type != PLACE:
                    column = builder.sext(column, PLACE)
                row = builder.gep(begin, [builder.mul(column, stride)])
                terms = [
                    load(builder, builder.gep(row, [place(LANES * v)])) for v in range(vectors)
                ]
                factor = spread(builder, builder.load(builder.gep(values, [position])))
                return [
                    multiply_add(builder, factor, *pair) for pair in zip(terms, held, strict=True)
                ]

            totals = add_up(builder, given[2], given[3], [ZERO] * vectors, step)
            for v, total in enumerate(totals):
                store(builder, total, builder.gep(outs, [builder.add(given[8], place(LANES * v))]))
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
# columns that sum_sparse_products computes at once
COLUMNS = 4 * LANES
_sum_fixed_width = _sum(4, fixed_width=True)


@compiled(nogil=True)
def multiply_rows(crow: Any, col: Any, value: Any, dense: Any, out: Any) -> None:
    """Write the product of a matrix in compressed rows and a dense one.

    Args:
        crow, col, value: the matrix; its columns aren't checked.
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
    """Write some columns of a layer with a ReLU whose input is a sparse matrix.

    Args:
        crow, col, value: the matrix, as for :func:`multiply_rows`.
        weight, bias: ``[f, h]`` and ``[h]``; h is a multiple of 8.
        first: the first of 32 columns, of which some may be beyond the last.
        out: ``[m, h]``, of which the same columns are written.
    """
    width = weight.shape[1]
    stop = min(first + COLUMNS, width)
    for row in range(crow.size - 1):
        here, there, at = crow[row], crow[row + 1], row * width
        if stop == first + COLUMNS:
            _sum_4(col, value, here, there, weight, width, first, out, at + first)
        else:
            for begin in range(first, stop, LANES):
                _sum_1(col, value, here, there, weight, width, begin, out, at + begin)
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
    """Write sums of products such as N·Nᵀ·H, for some columns of H.

    Rows may stand for groups of nodes; H is replaced by the means of groups then.

    Args:
        matrix, transposed: N and Nᵀ, square, each ``(crow, col, value)`` in compressed rows.
        group: ``[n]``, the row that each node belongs to.
        leader: ``[g]``, a node of each row.
        share: ``[g]``, one over the number of nodes of each row.
        steps: ``[w, 3]``, for each product whether it is with ``transposed``, the table that is
            multiplied, and the one that is written. Table 0 has the columns and is never written.
        factors: ``[w, r]``, how much of each product goes into each sum.
        dense: ``[n, h]``.
        first: the first of 32 columns, of which some may be beyond the last.
        out: ``[r, n, h]``, of which the same columns are written.
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
