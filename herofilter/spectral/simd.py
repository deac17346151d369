"""LLVM instructions on vectors of eight floats, for the sparse row product.

By itself the compiler doesn't keep the sums of a row in registers; a loop over explicit vectors
does. LLVM splits a vector where a processor has shorter ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

LANES = 8
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)
INDEX = ir.IntType(64)
ZERO = ir.Constant(VECTOR, [ir.Constant(FLOAT, 0.0)] * LANES)
_FUSED = ("contract",)


def constant(count: int) -> Any:
    """Return a 64-bit integer constant."""
    return ir.Constant(INDEX, count)


def start_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of the first entry of an array."""
    return context.make_array(kind)(context, builder, array).data


def load(builder: Any, address: Any) -> Any:
    """Return the eight floats at an address, which needn't be aligned to a vector."""
    return builder.load(builder.bitcast(address, VECTOR.as_pointer()), align=4)


def store(builder: Any, vector: Any, address: Any) -> None:
    """Write eight floats to an address."""
    builder.store(vector, builder.bitcast(address, VECTOR.as_pointer()), align=4)


def broadcast(builder: Any, value: Any) -> Any:
    """Return a vector that holds one float eight times."""
    nothing, index = ir.Constant(VECTOR, ir.Undefined), ir.IntType(32)
    first = builder.insert_element(nothing, value, ir.Constant(index, 0))
    zeros = ir.Constant(ir.VectorType(index, LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, zeros)


def multiply_add(builder: Any, left: Any, right: Any, total: Any) -> Any:
    """Return ``left * right + total``, as one instruction where the processor has it."""
    return builder.fadd(builder.fmul(left, right, flags=_FUSED), total, flags=_FUSED)


def accumulate(
    builder: Any, first: Any, stop: Any, totals: Sequence[Any], step: Callable[[Any, Any], Any]
) -> list[Any]:
    """Return the totals after ``totals = step(position, totals)`` for ``range(first, stop)``.

    The totals stay in registers.
    """
    before = builder.block
    body, after = builder.append_basic_block("body"), builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", first, stop), body, after)
    builder.position_at_end(body)
    position, held = builder.phi(INDEX), [builder.phi(VECTOR) for _ in totals]
    found = step(position, held)
    following = builder.add(position, constant(1))
    position.add_incoming(first, before)
    position.add_incoming(following, body)
    for value, start, end in zip(held, totals, found, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(end, body)
    builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
    builder.position_at_end(after)
    results = [builder.phi(VECTOR) for _ in totals]
    for value, start, end in zip(results, totals, found, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(end, body)
    return results
