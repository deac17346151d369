"""Columns that number the rows and describe nothing."""

import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

_FEWEST_ROWS = 20
# with so many rows, whole numbers that measure something repeat
_MANY_ROWS = 1000
_ID_NAME = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|no|nr|num|number|index|idx|row|code)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def id_like_columns(table: pa.Table, names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns whose every cell is another whole number, like an id or a row number.

    Whole numbers that happen to differ, as in a short table, are told from ids by their name, by
    lying close together, or by there being more than a thousand.

    Args:
        table: of nodes.
        names: the columns to look at.

    Example:
        >>> rows = {"row": range(30), "age": [20, 30, 40] * 10, "mass": [i * i for i in range(30)]}
        >>> id_like_columns(pa.table(rows), ["row", "age", "mass"])
        ('row',)
    """
    return tuple(name for name in names if _is_id(name, table[name]))


def _is_id(name: str, column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_floating(kind):
        finite = pc.all(pc.is_finite(column), min_count=0).as_py()
        if not finite or not pc.all(pc.equal(column, pc.floor(column)), min_count=0).as_py():
            return False
    elif not pa.types.is_integer(kind):
        return False
    count = len(column)
    # an id has no gaps
    if count < _FEWEST_ROWS or column.null_count or pc.count_distinct(column).as_py() < count:
        return False
    low, high = (int(each) for each in pc.min_max(column).as_py().values())
    words = _CAMEL.sub(" ", name).lower()
    return high - low < 2 * count or count > _MANY_ROWS or bool(_ID_NAME.search(words))
