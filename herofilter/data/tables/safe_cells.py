"""Cells that a spreadsheet program would run as formulas, made harmless."""

import pyarrow as pa
import pyarrow.compute as pc

from herofilter.data.tables.column_values import is_string

# what begins a formula in one program or another
_FORMULA = r"^([=+\-@\t\r])"


def safe_cells(column: pa.Array) -> pa.Array:
    """Return a column in which text that begins like a formula has a quote in front.

    Spreadsheet programs show such a cell as text, without the quote; numbers stay as they are.

    Example:
        >>> safe_cells(pa.array(["=1+1", "ann"])).to_pylist()
        ["'=1+1", 'ann']
    """
    if not is_string(column.type):
        return column
    return pc.replace_substring_regex(column, _FORMULA, r"'\1")


def safe_cell(value: str | int | bool) -> str | int | bool:
    """Return one value as :func:`safe_cells` would."""
    if not isinstance(value, str):
        return value
    return str(safe_cells(pa.array([value]))[0].as_py())
