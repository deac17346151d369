"""Columns of rare Arrow types as columns of the usual ones, which all functions can read."""

import pyarrow as pa

from herofilter.data.tables.column_values import is_list


def plain_types(table: pa.Table) -> pa.Table:
    """Return a table in which views, half floats and extension types are plain types.

    What can't be converted stays as it is.

    Example:
        >>> column = pa.array(["a"]).cast(pa.string_view())
        >>> plain_types(pa.table({"name": column})).schema.types
        [DataType(large_string)]
    """
    for number, field in enumerate(table.schema):
        kind = _plain(field.type)
        if kind == field.type:
            continue
        try:
            column = table.column(number)
            if isinstance(field.type, pa.BaseExtensionType):
                pieces = [piece.storage for piece in column.chunks]
                column = pa.chunked_array(pieces, field.type.storage_type)
            table = table.set_column(number, field.with_type(kind), column.cast(kind))
        except pa.ArrowException:
            continue
    return table


def _plain(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        inner = _plain(kind.value_type)
        rare = inner != kind.value_type or types.is_run_end_encoded(kind)
        return inner if rare else kind
    if is_list(kind) and _plain(kind.value_type) != kind.value_type:
        return pa.large_list(_plain(kind.value_type))
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        return pa.large_list(_plain(kind.value_type))
    return kind
