"""What the compiled loops write of vectors of eight numbers.

The compiler doesn't keep sums of whole rows in registers by itself; loops written out in vectors
do. It splits a vector where a processor has shorter ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

LANES = 8
NUMBER = ir.FloatType()
VECTOR = ir.VectorType(NUMBER, LANES)
PLACE = ir.IntType(64)
ZERO = ir.Constant(VECTOR, [ir.Constant(NUMBER, 0.0)] * LANES)
_FUSED = ("contract",)


def place(count: int) -> Any:
    """Return a number of entries as the loops count them."""
    return ir.Constant(PLACE, count)


def start_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of the first entry of an array."""
    return context.make_array(kind)(context, builder, array).data


def load(builder: Any, address: Any) -> Any:
    """Return the eight numbers from an address on, which needn't be a multiple of their size."""
    return builder.load(builder.bitcast(address, VECTOR.as_pointer()), align=4)


def store(builder: Any, vector: Any, address: Any) -> None:
    """Write eight numbers from an address on."""
    builder.store(vector, builder.bitcast(address, VECTOR.as_pointer()), align=4)


def spread(builder: Any, number: Any) -> Any:
    """Return a vector of one number eight times."""
    nothing, index = ir.Constant(VECTOR, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(nothing, number, ir.Constant(index, 0))
    zeros = ir.Constant(ir.VectorType(index, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, zeros)


def multiply_add(builder: Any, left: Any, right: Any, total: Any) -> Any:
    """Return ``left * right + total``, in one step where the processor has one."""
    return builder.fadd(builder.fmul(left, right, flags=_FUSED), total, flags=_FUSED)


def add_up(
    builder: Any, first: Any, stop: Any, totals: Sequence[Any], step: Callable[[Any, Any], Any]
) -> list[Any]:
    """Return totals after ``step(position, totals)`` for all positions from ``first`` to ``stop``.

    They stay in registers meanwhile.
    """
    before = builder.block
    body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", first, stop), body, after)
    builder.position_at_end(body)
    position, held = builder.phi(PLACE), [builder.phi(VECTOR) for _ in totals]
    found = step(position, held)
    coming = builder.add(position, place(1))
    position.add_incoming(first, before)
    position.add_incoming(coming, body)
    for value, start, end in zip(held, totals, found, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(end, body)
    builder.cbranch(builder.icmp_signed("<", coming, stop), body, after)
    builder.position_at_end(after)
    results = [builder.phi(VECTOR) for _ in totals]
    for value, start, end in zip(results, totals, found, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(end, body)
    return results
