"""An MLP along the rows of a few columns, whose hidden layer never leaves the registers."""

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from herofilter.nn.inference.places import places_of
from herofilter.spectral.vectors import (
    LANES,
    ZERO,
    add_up,
    load,
    multiply_add,
    place,
    positive,
    spread,
    start_of,
    store,
)

# hidden numbers of a column at once
HIDDEN = 12


@intrinsic
def _mix_columns(
    context: Any,
    first: Any,
    second: Any,
    weights: Any,
    bias: Any,
    bias_first: Any,
    table: Any,
    table_first: Any,
    table_row: Any,
    depth: Any,
    out: Any,
    out_first: Any,
    out_row: Any,
) -> Any:
    number = types.int64
    operands = [first, second, number, bias, number, table, number, number, number]
    operands += [out, number, number]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def at(which: int, distance: Any) -> Any:
            start = start_of(context, builder, signature.args[which], given[which])
            return builder.gep(start, [distance])

        def numbers(start: Any, row: Any) -> Any:
            line = builder.gep(start, [builder.mul(row, place(HIDDEN))])
            return [
                spread(builder, builder.load(builder.gep(line, [place(k)]))) for k in range(HIDDEN)
            ]

        one, other = at(0, given[2]), at(1, given[2])
        rows, outs = at(5, given[6]), at(9, given[10])

        def add(row: Any, held: Any) -> Any:
            term = load(builder, builder.gep(rows, [builder.mul(row, given[7])]))
            return [
                multiply_add(builder, weight, term, total)
                for weight, total in zip(numbers(one, row), held, strict=True)
            ]

        totals = add_up(builder, place(0), given[8], numbers(at(3, given[4]), place(0)), add)
        hidden = [positive(builder, total) for total in totals]

        def write(row: Any, _: Any) -> Any:
            address = builder.gep(outs, [builder.mul(row, given[11])])
            # two sums, so that half as many steps wait for one another
            sums = [load(builder, address), ZERO]
            for k, weight in enumerate(numbers(other, row)):
                sums[k % 2] = multiply_add(builder, weight, hidden[k], sums[k % 2])
            store(builder, builder.fadd(*sums), address)
            return []

        add_up(builder, place(0), given[8], [], write)
        return context.get_dummy_value()

    return types.void(*operands), generate


def _plain(
    first: Any,
    second: Any,
    weights: int,
    bias: Any,
    bias_first: int,
    table: Any,
    table_first: int,
    table_row: int,
    depth: int,
    out: Any,
    out_first: int,
    out_row: int,
) -> None:
    r"""Add :math:`\mathbf{W}_2\,\mathrm{ReLU}(\mathbf{W}_1\mathbf{X} + \mathbf{b})` to 8 columns.

    Args:
        first, second, weights: both maps, transposed and as it is, with 12 numbers per row of the
            columns, and where they begin in either.
        bias, bias_first: 12 numbers.
        table, table_first, table_row: the columns, as for a tile.
        depth: how many rows there are, of columns and of what they are added to.
        out, out_first, out_row: what is added to.
    """
    both = places_of(weights, HIDDEN, depth, HIDDEN)
    one, other = (array.reshape(-1)[both] for array in (first, second))
    rows = table.reshape(-1)[places_of(table_first, table_row, depth, LANES)]
    hidden = one.T @ rows + bias[bias_first : bias_first + HIDDEN, None]
    sums = other @ np.where(hidden > 0, hidden, 0)
    out.reshape(-1)[places_of(out_first, out_row, depth, LANES)] += sums


mix_columns = _plain if config.DISABLE_JIT else _mix_columns
