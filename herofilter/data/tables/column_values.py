"""The values of a column as floats, as text, or as the items of its lists."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from herofilter.errors import GraphError

_INTEGER = r"^(0|-?[1-9][0-9]*)$"
_PIECE = 1 << 20
_SECONDS = 1e-6


def as_floats(name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return float64 values, NaN where missing or infinite; dates become seconds since 1970."""
    kind, unit = column.type, 1.0
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column, unit = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), _SECONDS
    elif pa.types.is_time(kind):
        column, unit = column.cast(pa.time64("us"), safe=False).cast(pa.int64()), _SECONDS
    elif pa.types.is_duration(kind):
        column, unit = column.cast(pa.duration("us"), safe=False).cast(pa.int64()), _SECONDS
    values = _cast(name, column, pa.float64(), "numbers").to_numpy() * unit
    return np.where(np.isfinite(values), values, np.nan)


def as_booleans(name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return 1.0 for true and 0.0 for false, NaN where missing."""
    booleans = _cast(name, column, pa.bool_(), "true or false")
    values: np.ndarray = booleans.cast(pa.float64()).to_numpy()
    return values


def as_finite(name: str, column: pa.ChunkedArray) -> np.ndarray:
    """Return float32 values, 0 where missing or infinite."""
    values = _cast(name, column, pa.float32(), "numbers").to_numpy()
    return np.where(np.isfinite(values), values, np.float32(0))


def as_text(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text; what is empty is missing."""
    if not is_string(column.type) or pa.types.is_string_view(column.type):
        column = _cast(name, column, pa.large_string(), "text")
    return pc.if_else(pc.equal(column, ""), None, column)


def plain_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return text as integers if all of it is, without leading zeros; else None."""
    if not pc.all(pc.match_substring_regex(column, _INTEGER), min_count=0).as_py():
        return None
    for kind in (pa.int64(), pa.uint64()):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def item_pieces(
    name: str, column: pa.ChunkedArray, separator: str | None
) -> Iterator[tuple[np.ndarray, pa.Array]]:
    """Yield items as text with the rows they stand in, a million rows at a time."""
    if separator is None:
        column = check_list(name, column)
    for start in range(0, len(column), _PIECE):
        piece = column.slice(start, _PIECE)
        if separator is not None:
            piece = pc.split_pattern(as_text(name, piece), separator)
        rows = pc.list_parent_indices(piece).to_numpy() + start
        items = pc.utf8_trim_whitespace(as_text(name, pc.list_flatten(piece)))
        there = pc.fill_null(pc.not_equal(items, ""), False)
        yield rows[there.to_numpy()], items.filter(there).combine_chunks()


def check_list(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of lists, or raise; a column without any value is one of missing lists."""
    if pa.types.is_null(column.type):
        return column.cast(pa.list_(pa.string()))
    if not is_list(column.type):
        raise _wrong_kind(name, column, "lists")
    return column


def is_string(kind: pa.DataType) -> bool:
    """Return whether a type is one of Arrow's several types of text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is one of Arrow's several types of lists."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def most_frequent(counts: Sequence[pa.Array], most: int) -> tuple[tuple[str, ...], bool]:
    """Return the most frequent values of counted pieces, ties in order, and if some are left."""
    if not counts:
        return (), False
    table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(piece) for piece in counts])
    total = table.group_by("values").aggregate([("counts", "sum")])
    order = [("counts_sum", "descending"), ("values", "ascending")]
    return tuple(total.sort_by(order)["values"][:most].to_pylist()), len(total) > most


def _cast(name: str, column: pa.ChunkedArray, kind: pa.DataType, wanted: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException as error:
        raise _wrong_kind(name, column, wanted) from error


def _wrong_kind(name: str, column: pa.ChunkedArray, wanted: str) -> GraphError:
    example = column.drop_null()[:1].to_pylist()
    got = f", such as {example[0]!r}" if example else ""
    return GraphError(
        f"the column {name!r} must hold {wanted}, as in the training table "
        f"(got {column.type}{got}); convert it, or train anew"
    )
