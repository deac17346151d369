"""Which text columns are numbers or dates, how they are spelt, and which cells are neither."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from herofilter.data.tables.column_values import is_string
from herofilter.data.tables.number_text import (
    COMMA,
    DATES,
    ISO,
    PLAIN,
    SPELLINGS,
    DateSpelling,
    Spelling,
)
from herofilter.errors import GraphError

# a column with more cells that aren't numbers, or with fewer that are, is one of text
MOST_ODD = 0.05
LEAST_NUMBERS = 20
# codes, such as 007
_CODE = r"^[+-]?0\d"
# a comma that can't stand between thousands
_FRACTION = r"^[+-]?0,|,(?:\d{1,2}|\d{4,})$"
_BEGINS = r"^[+-]?\.?\d"


def read_spelt(
    table: pa.Table, names: Iterable[str], semicolons: bool = False
) -> tuple[pa.Table, dict[str, str], list[str]]:
    """Turn text columns into numbers or dates where nearly all of their cells are.

    A spelling is taken if it fits every cell, or at least 95 % of them and at least 20; the other
    cells become missing. Of two that fit as many, the first in this order is taken: 1234.5,
    1,234.5, 1234,5, 1.234,5, 1 234.5, 1 234,5, y-m-d, d/m/y, m/d/y.

    Args:
        table: of a text file.
        names: the columns to look at; those that aren't text are left as they are.
        semicolons: whether semicolons stand between the cells; then 1,234 has a decimal comma.

    Returns:
        the table, how columns are spelt unless it is as 1234.5, and notes.

    Example:
        >>> table, spelt, notes = read_spelt(pa.table({"joined": ["31/12/2020"]}), ["joined"])
        >>> spelt, notes  # doctest: +ELLIPSIS
        ({'joined': 'd/m/y'}, ["'joined' holds dates like '31/12/2020', read as ...: 2020-12-31"])
    """
    spelt, notes = {}, []
    for name in names:
        column = table[name]
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            spelt[name] = ISO.name
        if not is_string(column.type):
            continue
        found = _find(column, semicolons)
        if found is None:
            continue
        spelling, other = found
        values = spelling.read(column)
        table = _replaced(table, name, values)
        if spelling is not PLAIN:
            spelt[name] = spelling.name
        notes += _taken(name, column, spelling, other)
        notes += _odd_cells(name, column, values, spelling)
    return table, spelt, notes


def read_as_spelt(
    table: pa.Table, spelt: Mapping[str, str], semicolons: bool = False
) -> tuple[pa.Table, list[str]]:
    """Turn the text columns of a later table into numbers or dates, spelt as in training.

    Cells that are neither become missing, with a note. A column of which most cells are neither,
    and not just a few cells, is refused.

    Args:
        table: the later table.
        spelt: the spelling of each column that must hold numbers or dates.
        semicolons: whether semicolons stand between the cells of the file.
    """
    notes = []
    for name, key in spelt.items():
        column, spelling = table[name], SPELLINGS[key]
        if spelling is ISO and not pa.types.is_temporal(column.type):
            column = column.cast(pa.string())
        if not is_string(column.type):
            continue
        values = spelling.read(column)
        if spelling is PLAIN and semicolons:
            values = pc.coalesce(values, COMMA.read(column))
        known, odd = _odd(column, values)
        if known >= LEAST_NUMBERS and 2 * len(odd) > known:
            raise GraphError(
                f"the column {name!r} must hold {spelling.noun}s, as in the training table (got "
                f"{len(odd)} of {known} cells that aren't, such as {odd[0].as_py()!r}); "
                "convert it, or train anew"
            )
        table = _replaced(table, name, values)
        notes += _odd_cells(name, column, values, spelling)
    return table, notes


def _find(column: pa.ChunkedArray, semicolons: bool) -> tuple[Spelling, Spelling | None] | None:
    """Return the spelling of a column, and another that fits as well but gives other values."""
    known = _known(column)
    # most columns of text are words, told by one look at how their cells begin
    begins = pc.sum(pc.match_substring_regex(known, _BEGINS)).as_py() or 0
    if begins < (1 - MOST_ODD) * len(known):
        return None
    codes = pc.any(pc.match_substring_regex(known, _CODE)).as_py()
    usable: list[Spelling] = [*DATES.values()] if codes else [*SPELLINGS.values()]
    if semicolons:
        usable.sort(key=lambda each: each not in (PLAIN, COMMA))
    elif not pc.any(pc.match_substring_regex(known, _FRACTION)).as_py():
        usable = [each for each in usable if each is not COMMA]
    values = {each.name: each.read(known) for each in usable}
    odd = {name: found.null_count for name, found in values.items()}
    best = min(usable, key=lambda each: odd[each.name])
    few = odd[best.name]
    fits = len(known) - few
    if not fits or (few and (fits < LEAST_NUMBERS or few > MOST_ODD * len(known))):
        return None
    others = (each for each in usable if odd[each.name] == few)
    return best, next((each for each in others if values[each.name] != values[best.name]), None)


def _taken(
    name: str, column: pa.ChunkedArray, spelling: Spelling, other: Spelling | None
) -> list[str]:
    """Return what is said of a spelling that isn't the usual one."""
    if spelling in (PLAIN, ISO):
        return []
    values = spelling.read(column)
    if other is None:
        shows = pc.and_(pc.is_valid(values), pc.is_null(PLAIN.read(column)))
    else:
        shows = pc.not_equal(values, other.read(column))
    cell = column.filter(shows)[0].as_py()
    taken, meant = (None if each is None else _value(each, cell) for each in (spelling, other))
    if isinstance(spelling, DateSpelling):
        said = f"{name!r} holds dates like {cell!r}, read as {spelling.order}: {taken}"
    else:
        said = f"{name!r} holds numbers like {cell!r}, read as {taken}"
    doubt = f", though it could also be {meant}; write it like that if it is"
    return [said if meant is None else said + doubt]


def _value(spelling: Spelling, cell: str) -> str:
    value = spelling.read(pa.chunked_array([[cell]]))[0].as_py()
    return f"{value:%Y-%m-%d}" if isinstance(spelling, DateSpelling) else f"{value:.15g}"


def _odd_cells(
    name: str, column: pa.ChunkedArray, values: pa.ChunkedArray, spelling: Spelling
) -> list[str]:
    """Return a note on the cells that became missing, if there are any."""
    known, odd = _odd(column, values)
    if not len(odd):
        return []
    noun = spelling.noun
    what = f"isn't a {noun}" if len(odd) == 1 else f"aren't {noun}s"
    count = "it counts" if len(odd) == 1 else "they count"
    return [
        f"{len(odd)} of {known} cells of {name!r} {what}, such as {odd[0].as_py()!r}; "
        f"{count} as missing"
    ]


def _odd(column: pa.ChunkedArray, values: pa.ChunkedArray) -> tuple[int, pa.ChunkedArray]:
    """Return how many cells are filled in, and those that have no value."""
    return len(_known(column)), _known(column.filter(pc.is_null(values)))


def _known(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.filter(pc.not_equal(column, ""))


def _replaced(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)
