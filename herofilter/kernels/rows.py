"""Products of a sparse matrix with rows that lie one after the other."""

from collections.abc import Callable
from typing import Any

from numba import config, njit, types
from numba.extending import intrinsic

from herofilter.kernels.vectors import (
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


def _sum(vectors: int) -> Callable[..., Any]:
    """Return what writes a weighted sum of rows, as many vectors of them at once."""

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

            def step(position: Any, held: Any) -> Any:
                column = builder.load(builder.gep(columns, [position]))
                if column.type != PLACE:
                    column = builder.sext(column, PLACE)
                row = builder.gep(begin, [builder.mul(column, given[5])])
                factor = spread(builder, builder.load(builder.gep(values, [position])))
                return [
                    multiply_add(
                        builder, factor, load(builder, builder.gep(row, [place(LANES * v)])), total
                    )
                    for v, total in enumerate(held)
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
        columns = slice(begin, begin + LANES * vectors)
        total = value[first:stop] @ dense[col[first:stop], columns]
        out.reshape(-1)[target : target + LANES * vectors] = total

    return plain if config.DISABLE_JIT else compiled


_sum_8, _sum_4, _sum_1 = _sum(8), _sum(4), _sum(1)


@njit(cache=True, nogil=True)
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
