"""LayerNorm of a few rows at once."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from herofilter.kernels.tiles import WIDE
from herofilter.kernels.vectors import (
    LANES,
    NUMBER,
    ZERO,
    add_up,
    load,
    multiply_add,
    place,
    root,
    spread,
    start_of,
    store,
    total_of,
)

# rows at once: their sums don't wait for one another
_ROWS, _ = WIDE


@intrinsic
def _normalise_rows(
    context: Any,
    table: Any,
    first: Any,
    row: Any,
    norm: Any,
    width: Any,
    eps: Any,
    out: Any,
    out_first: Any,
    out_row: Any,
) -> Any:
    number = types.int64
    operands = [table, number, number, norm, number, types.float32, out, number, number]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def rows_of(which: int) -> Any:
            start = start_of(context, builder, signature.args[which], given[which])
            start = builder.gep(start, [given[which + 1]])
            return [
                builder.gep(start, [builder.mul(place(row), given[which + 2])])
                for row in range(_ROWS)
            ]

        def read(address: Any, position: Any) -> Any:
            return load(builder, builder.gep(address, [builder.mul(position, place(LANES))]))

        rows, outs, size = rows_of(0), rows_of(6), given[4]
        weights = start_of(context, builder, signature.args[3], given[3])
        biases, vectors = builder.gep(weights, [size]), builder.sdiv(size, place(LANES))
        share = builder.fdiv(ir.Constant(NUMBER, 1.0), builder.sitofp(size, NUMBER))

        def add(position: Any, held: Any) -> Any:
            return [
                builder.fadd(read(row, position), total)
                for row, total in zip(rows, held, strict=True)
            ]

        totals = add_up(builder, place(0), vectors, [ZERO] * _ROWS, add)
        means = [spread(builder, builder.fmul(total_of(builder, total), share)) for total in totals]

        def square(position: Any, held: Any) -> Any:
            rests = [
                builder.fsub(read(row, position), mean)
                for row, mean in zip(rows, means, strict=True)
            ]
            return [
                multiply_add(builder, rest, rest, total)
                for rest, total in zip(rests, held, strict=True)
            ]

        squares = add_up(builder, place(0), vectors, [ZERO] * _ROWS, square)
        scales = []
        for total in squares:
            spared = builder.fadd(builder.fmul(total_of(builder, total), share), given[5])
            scale = builder.fdiv(ir.Constant(NUMBER, 1.0), root(builder, spared))
            scales.append(spread(builder, scale))

        def write(position: Any, held: Any) -> Any:
            weight, bias = read(weights, position), read(biases, position)
            for row, mean, scale, out in zip(rows, means, scales, outs, strict=True):
                unit = builder.fmul(builder.fsub(read(row, position), mean), scale)
                address = builder.gep(out, [builder.mul(position, place(LANES))])
                store(builder, multiply_add(builder, unit, weight, bias), address)
            return []

        add_up(builder, place(0), vectors, [], write)
        return context.get_dummy_value()

    return types.void(*operands), generate


def _plain(
    table: Any,
    first: int,
    row: int,
    norm: Any,
    width: int,
    eps: Any,
    out: Any,
    out_first: int,
    out_row: int,
) -> None:
    """Write the LayerNorm of six rows; an operand is what it is for a tile.

    Args:
        table, first, row: the rows, each of which begins with what is normalised.
        norm: ``[2, width]``, weight and bias; the width is a multiple of 8.
        width: how many numbers of a row are normalised.
        eps: what is added to the variance.
        out, out_first, out_row: where they go to.
    """
    columns, numbers = np.arange(width), np.arange(_ROWS)[:, None]
    rows = table.reshape(-1)[first + row * numbers + columns]
    rest = rows - rows.mean(1, keepdims=True)
    unit = rest / np.sqrt((rest * rest).mean(1, keepdims=True) + eps)
    out.reshape(-1)[out_first + out_row * numbers + columns] = unit * norm[0] + norm[1]


normalise_rows = _plain if config.DISABLE_JIT else _normalise_rows
