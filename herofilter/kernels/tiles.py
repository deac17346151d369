r"""A few rows of a product of two matrices, held in registers.

A tile adds :math:`\mathbf{A}\mathbf{B}` to what stands in a few rows and columns of
:math:`\mathbf{C}`, or writes :math:`\mathrm{ReLU}(\mathbf{u} \odot \mathbf{A}\mathbf{B} +
\mathbf{b})` over it, with a factor of each row and a bias of each column. An operand is an array,
the place of the tile's first entry in it, and the distance of its rows, both counted in entries.
All arrays are contiguous, and no place is checked.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from herofilter.kernels.vectors import (
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
TALL, WIDE = (12, LANES), (6, 2 * LANES)


def _tile(shape: tuple[int, int], writes: bool) -> Callable[..., Any]:
    """Return a tile that writes what comes out of a layer, or one that adds."""
    rows, vectors = shape[0], shape[1] // LANES

    @intrinsic
    def compiled(
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

            def row_of(which: int, row: int) -> Any:
                return at(which, builder.mul(place(row), given[which + 2]))

            left, right = [row_of(0, row) for row in range(rows)], at(3)
            targets = [
                builder.gep(row_of(7, row), [place(LANES * vector)])
                for row in range(rows)
                for vector in range(vectors)
            ]
            totals = [ZERO if writes else load(builder, target) for target in targets]

            def step(position: Any, held: Any) -> Any:
                line = builder.gep(right, [builder.mul(position, given[5])])
                terms = [
                    load(builder, builder.gep(line, [place(LANES * v)])) for v in range(vectors)
                ]
                factors = [builder.load(builder.gep(address, [position])) for address in left]
                return [
                    multiply_add(builder, spread(builder, factor), term, held[row * vectors + v])
                    for row, factor in enumerate(factors)
                    for v, term in enumerate(terms)
                ]

            totals = add_up(builder, place(0), given[6], totals, step)
            if writes:
                shifts = [load(builder, at(12, place(LANES * v))) for v in range(vectors)]
                units = [spread(builder, builder.load(at(10, place(row)))) for row in range(rows)]
                totals = [
                    positive(builder, multiply_add(builder, total, units[k // vectors], shift))
                    for k, (total, shift) in enumerate(zip(totals, shifts * rows, strict=True))
                ]
            for total, target in zip(totals, targets, strict=True):
                store(builder, total, target)
            return context.get_dummy_value()

        return types.void(*operands), generate

    def plain(
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
        def view(array: Any, first: int, row: int, height: int, width: int) -> Any:
            places = first + row * np.arange(height)[:, None] + np.arange(width)
            return array.reshape(-1), places

        (left, at_left), (right, at_right), (target, at_target) = (
            view(a, a_first, a_row, rows, depth),
            view(b, b_first, b_row, depth, shape[1]),
            view(c, c_first, c_row, *shape),
        )
        product = left[at_left] @ right[at_right]
        if not writes:
            target[at_target] += product
            return
        product *= unit[unit_first : unit_first + rows, None]
        product += shift[shift_first : shift_first + shape[1]]
        target[at_target] = np.where(product > 0, product, 0)

    return plain if config.DISABLE_JIT else compiled


add_tile = _tile(TALL, writes=False)
layer_tile = _tile(WIDE, writes=True)
