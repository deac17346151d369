"""LayerNorm of a few rows at once, whose sums then don't wait for one another."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from herofilter.nn.inference.places import places_of, rows_of
from herofilter.nn.inference.tiles import ROWS
from herofilter.spectral.vectors import (
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


def _read(builder: Any, start: Any, position: Any) -> Any:
    return load(builder, builder.gep(start, [builder.mul(position, place(LANES))]))


def _statistics(builder: Any, rows: list[Any], size: Any, eps: Any) -> tuple[list[Any], list[Any]]:
    """Return the means of rows, and one over their deviations."""
    vectors = builder.sdiv(size, place(LANES))
    share = builder.fdiv(ir.Constant(NUMBER, 1.0), builder.sitofp(size, NUMBER))

    def add(position: Any, held: Any) -> Any:
        return [
            builder.fadd(_read(builder, row, position), total)
            for row, total in zip(rows, held, strict=True)
        ]

    totals = add_up(builder, place(0), vectors, [ZERO] * ROWS, add)
    means = [spread(builder, builder.fmul(total_of(builder, total), share)) for total in totals]

    def square(position: Any, held: Any) -> Any:
        rests = [
            builder.fsub(_read(builder, row, position), mean)
            for row, mean in zip(rows, means, strict=True)
        ]
        return [
            multiply_add(builder, rest, rest, total)
            for rest, total in zip(rests, held, strict=True)
        ]

    units = []
    for total in add_up(builder, place(0), vectors, [ZERO] * ROWS, square):
        spared = builder.fadd(builder.fmul(total_of(builder, total), share), eps)
        units.append(builder.fdiv(ir.Constant(NUMBER, 1.0), root(builder, spared)))
    return means, units


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
        rows, outs = (rows_of(context, builder, signature, given, which, ROWS) for which in (0, 6))
        weights = start_of(context, builder, signature.args[3], given[3])
        biases = builder.gep(weights, [given[4]])
        means, units = _statistics(builder, rows, given[4], given[5])
        scales = [spread(builder, unit) for unit in units]

        def write(position: Any, _: Any) -> Any:
            weight, bias = (_read(builder, start, position) for start in (weights, biases))
            for row, mean, scale, out in zip(rows, means, scales, outs, strict=True):
                rest = builder.fsub(_read(builder, row, position), mean)
                address = builder.gep(out, [builder.mul(position, place(LANES))])
                unit = builder.fmul(rest, scale)
                store(builder, multiply_add(builder, unit, weight, bias), address)
            return []

        add_up(builder, place(0), builder.sdiv(given[4], place(LANES)), [], write)
        return context.get_dummy_value()

    return types.void(*operands), generate


@intrinsic
def _row_units(
    context: Any, table: Any, first: Any, row: Any, width: Any, eps: Any, out: Any, out_first: Any
) -> Any:
    number = types.int64
    operands = [table, number, number, number, types.float32, out, number]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        rows = rows_of(context, builder, signature, given, 0, ROWS)
        target = start_of(context, builder, signature.args[5], given[5])
        _, units = _statistics(builder, rows, given[3], given[4])
        for number, unit in enumerate(units):
            builder.store(unit, builder.gep(target, [builder.add(given[6], place(number))]))
        return context.get_dummy_value()

    return types.void(*operands), generate


def _plain_rows(table: Any, first: int, row: int, width: int, eps: Any) -> tuple[Any, Any]:
    rows = table.reshape(-1)[places_of(first, row, ROWS, width)]
    rest = rows - rows.mean(1, keepdims=True)
    return rest, 1 / np.sqrt((rest * rest).mean(1) + eps)


def _plain_normalise(
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
    rest, units = _plain_rows(table, first, row, width, eps)
    places = places_of(out_first, out_row, ROWS, width)
    out.reshape(-1)[places] = rest * units[:, None] * norm[0] + norm[1]


def _plain_units(
    table: Any, first: int, row: int, width: int, eps: Any, out: Any, out_first: int
) -> None:
    """Write what LayerNorm multiplies each of six rows by; operands are those of the above."""
    _, units = _plain_rows(table, first, row, width, eps)
    out[out_first : out_first + ROWS] = units


normalise_rows = _plain_normalise if config.DISABLE_JIT else _normalise_rows
row_units = _plain_units if config.DISABLE_JIT else _row_units
