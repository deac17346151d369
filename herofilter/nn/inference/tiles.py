"""A few rows of a product of two matrices, held in registers."""

from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from herofilter.nn.inference.places import places_of, rows_of
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

# rows and columns of a tile: twelve sums of eight numbers fill the registers
ROWS, COLUMNS = 6, 2 * LANES
_VECTORS = COLUMNS // LANES


@intrinsic
def _layer_tile(
    context: Any,
    a: Any,
    a_first: Any,
    a_row: Any,
    b: Any,
    b_first: Any,
    b_row: Any,
    depth: Any,
    c: Any,
    c_first: Any,
    c_row: Any,
    unit: Any,
    unit_first: Any,
    shift: Any,
    shift_first: Any,
) -> Any:
    number = types.int64
    operands = [a, number, number, b, number, number, number, c, number, number]
    operands += [unit, number, shift, number]

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def at(which: int, *distances: Any) -> Any:
            address = start_of(context, builder, signature.args[which], given[which])
            for distance in (given[which + 1], *distances):
                address = builder.gep(address, [distance])
            return address

        left, targets = (
            rows_of(context, builder, signature, given, which, ROWS) for which in (0, 7)
        )
        right = at(3)

        def step(position: Any, held: Any) -> Any:
            line = builder.gep(right, [builder.mul(position, given[5])])
            terms = [load(builder, builder.gep(line, [place(LANES * v)])) for v in range(_VECTORS)]
            factors = [builder.load(builder.gep(address, [position])) for address in left]
            return [
                multiply_add(builder, spread(builder, factor), term, held[row * _VECTORS + v])
                for row, factor in enumerate(factors)
                for v, term in enumerate(terms)
            ]

        totals = add_up(builder, place(0), given[6], [ZERO] * (ROWS * _VECTORS), step)
        shifts = [load(builder, at(12, place(LANES * v))) for v in range(_VECTORS)]
        for row, target in enumerate(targets):
            unit = spread(builder, builder.load(at(10, place(row))))
            for v, shift in enumerate(shifts):
                total = multiply_add(builder, totals[row * _VECTORS + v], unit, shift)
                address = builder.gep(target, [place(LANES * v)])
                store(builder, positive(builder, total), address)
        return context.get_dummy_value()

    return types.void(*operands), generate


def _plain(
    a: Any,
    a_first: int,
    a_row: int,
    b: Any,
    b_first: int,
    b_row: int,
    depth: int,
    c: Any,
    c_first: int,
    c_row: int,
    unit: Any,
    unit_first: int,
    shift: Any,
    shift_first: int,
) -> None:
    r"""Write :math:`\mathrm{ReLU}(\mathbf{u} \odot \mathbf{A}\mathbf{B} + \mathbf{b})`.

    Args:
        a, a_first, a_row: six rows.
        b, b_first, b_row: sixteen columns.
        depth: how many numbers the rows have.
        c, c_first, c_row: where six rows of sixteen numbers go to.
        unit, unit_first: a factor of each row.
        shift, shift_first: a number that is added to each column.
    """
    left = a.reshape(-1)[places_of(a_first, a_row, ROWS, depth)]
    product = left @ b.reshape(-1)[places_of(b_first, b_row, depth, COLUMNS)]
    product *= unit[unit_first : unit_first + ROWS, None]
    product += shift[shift_first : shift_first + COLUMNS]
    c.reshape(-1)[places_of(c_first, c_row, ROWS, COLUMNS)] = np.where(product > 0, product, 0)


layer_tile = _plain if config.DISABLE_JIT else _layer_tile
