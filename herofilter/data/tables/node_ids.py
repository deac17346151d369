"""Node ids of any kind: compared between tables, and turned into row indices."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from herofilter.data.tables.column_values import is_string, plain_integers
from herofilter.errors import GraphError, did_you_mean

_LARGEST_EXACT_FLOAT = 2.0**53
_STRING_BYTES = 2**31 - 1
_MOST_COMPARED = 5000


@dataclass(frozen=True, eq=False)
class MatchedIds:
    """The id of each node, for each edge the rows of the nodes it joins, and which were kept."""

    ids: pa.Array
    source: np.ndarray
    target: np.ndarray
    kept: np.ndarray
    notes: tuple[str, ...]


def match_ids(
    nodes: pa.ChunkedArray | None,
    source: pa.ChunkedArray,
    target: pa.ChunkedArray,
    *,
    nodes_text: bool = False,
    edges_text: bool = False,
    drop_unknown: bool = False,
) -> MatchedIds:
    """Find the row of every edge's ends among ``nodes``, or number the ends if there are none.

    Ids from text files are integers only if all of them are, in both tables and without
    leading zeros; ``nodes_text`` and ``edges_text`` say which tables came from one. An edge to an
    id that isn't among ``nodes`` is refused, or dropped with ``drop_unknown``.

    Example:
        >>> column = lambda *ids: pa.chunked_array([ids])
        >>> match_ids(column("b", "a"), column("a"), column("b")).source
        array([1])
    """
    given = {
        "nodes": None if nodes is None else _readable(nodes, "nodes"),
        "source": _readable(source, "edges"),
        "target": _readable(target, "edges"),
    }
    text = {"nodes": nodes_text, "source": edges_text, "target": edges_text}
    columns = {role: column for role, column in given.items() if column is not None}
    integers = {role: plain_integers(columns[role]) for role in columns if text[role]}
    integers |= {role: columns[role] for role in columns if pa.types.is_integer(columns[role].type)}
    if all(integers.get(role) is not None for role in columns):
        columns = integers
    alike, compared_as_text = _alike(columns)
    known = alike.get("nodes")
    if known is None:
        start, end = alike["source"], alike["target"]
        known = pa.chunked_array([*start.chunks, *end.chunks], start.type).unique()
    else:
        _check_different(known)
    ids = one_array(columns.get("nodes", known))
    rows, kept, dropped = known_rows(alike["source"], alike["target"], known, drop_unknown)
    notes = ["ids are numbers in one column and text in another, so they were compared as text"]
    said = (*(notes if compared_as_text else ()), *dropped)
    return MatchedIds(ids, *rows, kept, said)


def known_rows(
    source: pa.ChunkedArray,
    target: pa.ChunkedArray,
    known: pa.Array | pa.ChunkedArray,
    drop_unknown: bool = False,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, list[str]]:
    """Return the rows of the ends of edges among known ids, which edges these are, and notes.

    An edge to another id is refused, or left out with ``drop_unknown`` unless all are.

    Example:
        >>> column = lambda *ids: pa.chunked_array([ids])
        >>> ends, known = (column("a", "z"), column("b", "b")), pa.array(["a", "b"])
        >>> _, kept, notes = known_rows(*ends, known, drop_unknown=True)
        >>> kept, notes  # doctest: +ELLIPSIS
        (array([ True, False]), ["1 of 2 edges joins an id without a row in the nodes, ..."])
    """
    found = [pc.index_in(end, value_set=known) for end in (source, target)]
    unknown = [pc.is_null(rows) for rows in found]
    kept: np.ndarray = pc.invert(pc.or_(*unknown)).to_numpy()
    start, end = (rows.fill_null(-1).to_numpy().astype(np.int64)[kept] for rows in found)
    if kept.all():
        return (start, end), kept, []
    absent = [end.filter(mask) for end, mask in zip((source, target), unknown, strict=True)]
    absent_ids = pa.chunked_array([*absent[0].chunks, *absent[1].chunks], source.type).unique()
    if not drop_unknown or not kept.any():
        cure = "add the rows, drop the edges with --drop-unknown"
        cure = "spell ids alike in both tables" if drop_unknown else cure
        raise GraphError(
            f"every id in the edges must have a row in the nodes (got {len(absent_ids)} without "
            f"one, such as {absent_ids[0].as_py()!r}; the first node is {known[0].as_py()!r}); "
            f"{cure}, or give no nodes at all to have them made from edges"
        )
    count = int((~kept).sum())
    verbs = ("joins an id", "was") if count == 1 else ("join ids", "were")
    return (
        (start, end),
        kept,
        [
            f"{count} of {kept.size} edges {verbs[0]} without a row in the nodes, such as "
            f"{absent_ids[0].as_py()!r}, and {verbs[1]} dropped"
        ],
    )


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, with wider offsets if its text is too long for short ones."""
    if isinstance(column, pa.Array):
        return column
    if pa.types.is_string(column.type) and column.nbytes > _STRING_BYTES:
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def _readable(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Return ids as integers or text, none missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        column = _whole(column, what)
    elif not is_string(column.type) and not pa.types.is_integer(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException as error:
            raise GraphError(
                f"node ids must be text or integers (got {column.type} in the {what})"
            ) from error
    missing = column.null_count
    if is_string(column.type):
        missing += pc.sum(pc.equal(column, "")).as_py() or 0
    if missing:
        raise GraphError(
            f"every row of the {what} must have an id (got {missing} without one); "
            "fill them in or drop those rows; in text files NA, null and the like are missing"
        )
    return column


def _whole(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Turn floats into integers: pandas makes floats of integers beside missing ones."""
    column = pc.if_else(pc.is_nan(column), None, column)
    fine = pc.and_(
        pc.equal(pc.floor(column), column), pc.less(pc.abs(column), _LARGEST_EXACT_FLOAT)
    )
    wrong = column.filter(pc.invert(fine))
    if len(wrong):
        raise GraphError(
            f"node ids must be text or integers (got {wrong[0].as_py()!r} in the {what}); "
            "read them as text, so that none loses digits"
        )
    return column.cast(pa.int64())


def _alike(columns: dict[str, pa.ChunkedArray]) -> tuple[dict[str, pa.ChunkedArray], bool]:
    """Return the columns in one type, and whether kinds that differ were made text for it."""
    integral = [pa.types.is_integer(column.type) for column in columns.values()]
    for kind in (pa.int64(), pa.uint64()) if all(integral) else ():
        try:
            return {role: column.cast(kind) for role, column in columns.items()}, False
        except pa.ArrowInvalid:
            continue
    wide = any(pa.types.is_large_string(column.type) for column in columns.values())
    text = pa.large_string() if wide else pa.string()
    return {role: column.cast(text) for role, column in columns.items()}, any(integral)


def _check_different(ids: pa.ChunkedArray) -> None:
    distinct = len(ids.unique())
    if distinct == len(ids):
        return
    counts = ids.value_counts()
    example = next(pair for pair in counts.filter(pc.greater(counts.field("counts"), 1)))
    raise GraphError(
        f"every node must have an id of its own (got {len(ids)} rows with {distinct} different "
        f"ids; {example['values'].as_py()!r} occurs {example['counts'].as_py()} times); "
        "keep one row per node"
    )


def nearest_id(text: str, names: pa.Array) -> str:
    """Return a hint at an id that looks like ``text``, or at the first one."""
    # a long common start first: among a million ids, most are far from the one that was meant
    for length in (3 * len(text) // 4, len(text) // 2, 1):
        alike = names.filter(pc.starts_with(names, text[:length]))[:_MOST_COMPARED]
        if len(alike):
            break
    return did_you_mean(text, alike.to_pylist()) or f"; the first is {names[0].as_py()!r}"
