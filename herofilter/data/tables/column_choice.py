"""Which kind of feature a column is: its type says, and for text how its values repeat."""

import pyarrow as pa
import pyarrow.compute as pc

from herofilter.data.tables.column_kinds import Boolean, Category, Numeric
from herofilter.data.tables.column_values import is_list, is_string
from herofilter.data.tables.list_kinds import Items, Vector

SEPARATORS = ("|", ";")
_FEW_VALUES = 10
_NEARLY_ALL = 0.9

Column = Numeric | Boolean | Category | Items | Vector


def fit_column(table: pa.Table, name: str) -> tuple[Column | None, str]:
    """Return the encoder of a column, or None and the reason why it is left out.

    Example:
        >>> fit_column(pa.table({"tags": ["a|b", "b|c"]}), "tags")[0].names
        ('tags has b', 'tags has a', 'tags has c')
    """
    column, types = table[name], pa.types
    kind, same = column.type, "every row says the same"
    if column.null_count == len(column):
        return None, "it has no values"
    if types.is_boolean(kind):
        return Boolean.fit(name, column), same
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return Numeric.fit(name, column), same
    if types.is_temporal(kind) and not types.is_interval(kind):
        return Numeric.fit(name, column), same
    if types.is_dictionary(kind) or is_string(kind):
        return _fit_text(name, column if is_string(kind) else column.cast(pa.string()))
    if is_list(kind):
        return _fit_lists(table.schema.field(name), column)
    return None, f"values of the type {kind} aren't supported"


def _fit_text(name: str, column: pa.ChunkedArray) -> tuple[Column | None, str]:
    known = column.filter(pc.not_equal(column, ""))
    for separator in SEPARATORS:
        with_it = pc.sum(pc.match_substring(known, separator)).as_py() or 0
        if 2 * with_it > len(known):
            return Items.fit(name, column, separator), "it has no items"
    distinct = len(known.unique())
    if distinct > max(_FEW_VALUES, _NEARLY_ALL * len(known)):
        return None, f"nearly every value is different ({distinct} in {len(known)} rows)"
    return Category.fit(name, column), "every row says the same"


def _fit_lists(field: pa.Field, column: pa.ChunkedArray) -> tuple[Column | None, str]:
    inner = field.type.value_type
    if pa.types.is_floating(inner):
        return Vector.fit(field.name, column), "its lists are of different lengths"
    if Vector.is_sparse(field.type):
        width = (field.metadata or {}).get(b"width")
        if width is not None:
            return Vector(field.name, int(width)), ""
        return Vector.fit(field.name, column), "its lists are empty"
    if is_string(inner) or pa.types.is_integer(inner) or pa.types.is_dictionary(inner):
        return Items.fit(field.name, column), "its lists are empty"
    return None, f"lists of the type {inner} aren't supported"
