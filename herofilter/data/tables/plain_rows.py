"""Rows of plain values, as JSON has them, as an Arrow table that is read like a text file."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from herofilter.data.tables.read_table import read_cells
from herofilter.errors import GraphError

_NUMBERS = (int, float)
_SCALARS = (str, bool, int, float, type(None))


def rows_table(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], text: Sequence[str] = ()
) -> pa.Table:
    """Return the columns ``names`` of the rows; a row without one of them has a gap there.

    A column of numbers, of booleans or of lists is taken as it is. In any other, text is read as a
    cell of a CSV file is: spaces around it are cut off, NA and the like are gaps, and what looks
    like numbers or dates in all rows is.

    Args:
        rows: values are text, numbers, booleans, None, or lists of these.
        names: the columns; one that no row has is left out.
        text: columns that stay text, whatever they look like.

    Example:
        >>> rows = [{"age": 31, "zip": "01234"}, {"age": "NA", "zip": 1}]
        >>> rows_table(rows, ["age", "zip"], text=["zip"]).to_pydict()
        {'age': [31, None], 'zip': ['01234', '1']}
    """
    known = {name: [row.get(name) for row in rows] for name in names if _occurs(name, rows)}
    plain, cells = {}, {}
    for name, values in known.items():
        column = None if name in text and not _has(values, list) else _plain_column(name, values)
        if column is None:
            cells[name] = [_cell(name, value) for value in values]
        else:
            plain[name] = column
    read = read_cells(cells, [name for name in text if name in cells]) if cells else {}
    return pa.table({name: plain[name] if name in plain else read[name] for name in known})


def id_column(values: Sequence[str | int]) -> pa.Array:
    """Return ids as integers if all are and fit, else as text.

    Example:
        >>> id_column([7, "b"]).to_pylist(), id_column([7, 8]).to_pylist()
        (['7', 'b'], [7, 8])
    """
    if _has(values, int) and not _has(values, str):
        for kind in (pa.int64(), pa.uint64()):
            try:
                return pa.array(values, kind)
            except (OverflowError, pa.ArrowInvalid):
                continue
    return pa.array([str(value) for value in values], pa.string())


def _occurs(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    return not rows or any(name in row for row in rows)


def _has(values: Sequence[Any], kind: type | tuple[type, ...]) -> bool:
    return any(isinstance(value, kind) for value in values)


def _plain_column(name: str, values: Sequence[Any]) -> pa.Array | None:
    """Return a column whose type is plain, None for one that is read as text."""
    there = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in there):
        return _lists(name, values)
    if not there:
        return pa.nulls(len(values))
    if all(isinstance(value, bool) for value in there):
        return pa.array(values, pa.bool_())
    if all(isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in there):
        kind = pa.int64() if all(isinstance(value, int) for value in there) else pa.float64()
        try:
            return pa.array(values, kind)
        except (OverflowError, pa.ArrowInvalid):
            return None
    return None


def _lists(name: str, values: Sequence[Any]) -> pa.Array:
    for value in values:
        if value is not None and not isinstance(value, list):
            raise _mixed(name, value)
        for item in value or ():
            if not isinstance(item, _SCALARS):
                raise _mixed(name, item)
    try:
        return pa.array(values)
    except (OverflowError, pa.ArrowException) as error:
        raise GraphError(
            f"the lists in the column {name!r} must hold values of one kind (got a mix or a number "
            "that is too large); convert them"
        ) from error


def _cell(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, _SCALARS):
        raise _mixed(name, value)
    return json.dumps(value)


def _mixed(name: str, value: Any) -> GraphError:
    words: dict[type, str] = {dict: "an object", list: "a list"}
    got = words.get(type(value), "a list beside other values")
    return GraphError(
        f"the column {name!r} must hold text, numbers, true or false, or lists of these in all "
        f"rows (got {got}); convert it"
    )
