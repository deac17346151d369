"""Dot products of a few long rows with a few others, all sums in registers."""

from collections.abc import Callable
from typing import Any

from numba import config, njit, types
from numba.extending import intrinsic

from herofilter.nn.inference.places import places_of, rows_of
from herofilter.spectral.vectors import (
    LANES,
    ZERO,
    add_up,
    load,
    multiply_add,
    place,
    total_of,
)

# rows of the one matrix at once, and at most of the other
PAIR, _MOST = 2, 6


def _dots(others: int) -> Callable[..., Any]:
    """Return what adds the products of two rows with as many others."""

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
    ) -> Any:
        number = types.int64
        operands = [a, number, number, b, number, number, number, c, number, number]

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            left, right, outs = (
                rows_of(context, builder, signature, given, which, count)
                for which, count in ((0, PAIR), (3, others), (7, PAIR))
            )

            def step(position: Any, held: Any) -> Any:
                here = [builder.mul(position, place(LANES))]
                ours, theirs = (
                    [load(builder, builder.gep(row, here)) for row in rows]
                    for rows in (left, right)
                )
                pairs = [(our, their) for our in ours for their in theirs]
                return [
                    multiply_add(builder, our, their, total)
                    for (our, their), total in zip(pairs, held, strict=True)
                ]

            vectors = builder.sdiv(given[6], place(LANES))
            totals = add_up(builder, place(0), vectors, [ZERO] * (PAIR * others), step)
            for number, total in enumerate(totals):
                address = builder.gep(outs[number // others], [place(number % others)])
                found = builder.fadd(builder.load(address), total_of(builder, total))
                builder.store(found, address)
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
    ) -> None:
        left = a.reshape(-1)[places_of(a_first, a_row, PAIR, depth)]
        right = b.reshape(-1)[places_of(b_first, b_row, others, depth)]
        c.reshape(-1)[places_of(c_first, c_row, PAIR, others)] += left @ right.T

    return plain if config.DISABLE_JIT else compiled


_dots_1, _dots_2, _dots_3, _dots_4, _dots_5, _dots_6 = (_dots(k + 1) for k in range(_MOST))


@njit(cache=True, nogil=True)
def add_dots(
    a: Any, first: int, row: int, b: Any, depth: int, c: Any, c_first: int, c_row: int
) -> None:
    """Add the dot products of two rows with all rows of a matrix.

    Args:
        a, first, row: the two rows, as for a tile.
        b: ``[m, depth]``.
        depth: how many numbers a row has; a multiple of 8.
        c, c_first, c_row: two rows of m numbers that are added to.
    """
    begin = 0
    while begin < len(b):
        at, to, rest = begin * depth, c_first + begin, len(b) - begin
        if rest >= 6:
            _dots_6(a, first, row, b, at, depth, depth, c, to, c_row)
        elif rest == 5:
            _dots_5(a, first, row, b, at, depth, depth, c, to, c_row)
        elif rest == 4:
            _dots_4(a, first, row, b, at, depth, depth, c, to, c_row)
        elif rest == 3:
            _dots_3(a, first, row, b, at, depth, depth, c, to, c_row)
        elif rest == 2:
            _dots_2(a, first, row, b, at, depth, depth, c, to, c_row)
        else:
            _dots_1(a, first, row, b, at, depth, depth, c, to, c_row)
        begin += 6
