"""Where operands lie, for compiled loops and for the plain ones that say the same.

An operand is an array, the place of its first entry, and the distance of its rows, both counted in
entries. All arrays are contiguous, and no place is checked.
"""

from typing import Any

import numpy as np

from herofilter.spectral.vectors import place, start_of


def rows_of(
    context: Any, builder: Any, signature: Any, given: Any, which: int, count: int
) -> list[Any]:
    """Return the addresses of the rows of the operand whose array is argument ``which``."""
    start = start_of(context, builder, signature.args[which], given[which])
    start = builder.gep(start, [given[which + 1]])
    return [builder.gep(start, [builder.mul(place(row), given[which + 2])]) for row in range(count)]


def places_of(first: int, row: int, height: int, width: int) -> Any:
    """Return the places of an operand's entries in its array, laid flat: ``[height, width]``.

    Example:
        >>> places_of(5, 10, 2, 3).tolist()
        [[5, 6, 7], [15, 16, 17]]
    """
    return first + row * np.arange(height)[:, None] + np.arange(width)
