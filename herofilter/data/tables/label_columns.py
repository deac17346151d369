"""Labels and splits: columns of a table of nodes as class indices and masks."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from herofilter.data.checks import MASKS
from herofilter.data.tables.column_values import is_string, plain_integers
from herofilter.errors import GraphError

Class = str | int | bool

_MOST_NUMBERS = 1000
_LEADING_ZERO = r"^[+-]?0[0-9]"
_PARTS = {"train": 0, "training": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}


def read_labels(
    column: pa.ChunkedArray,
    name: str,
    classes: Sequence[Class] | None = None,
    *,
    text: bool = False,
) -> tuple[Tensor, tuple[Class, ...], list[str]]:
    """Return class indices, -1 where the label is missing; what the classes are called; notes.

    Classes are sorted, or those of ``classes``, and a label that isn't among the latter counts
    as missing. ``text`` says that the column came from a text file, so its kind is a guess.

    Example:
        >>> read_labels(pa.chunked_array([["cat", None, "ant"]]), "animal")[:2]
        (tensor([ 1, -1,  0]), ('ant', 'cat'))
    """
    labels = _categorical(column, name, text)
    notes = []
    if labels.null_count:
        notes.append(f"{labels.null_count} of {len(labels)} nodes have no label")
    if classes is None:
        known = labels.drop_null().unique()
        known = known.take(pc.sort_indices(known))
        called = tuple(known.to_pylist())
        _check_classes(called, name)
        found = pc.index_in(labels, value_set=known)
    else:
        called = tuple(classes)
        # as text, because a table of a few nodes may show another kind than the training table
        known = pa.array(called).cast(pa.string())
        found = pc.index_in(labels.cast(pa.string()), value_set=known)
        strange = labels.filter(pc.and_(pc.is_valid(labels), pc.is_null(found)))
        if len(strange):
            notes.append(
                f"{len(strange)} nodes have a label that isn't a class of the model, "
                f"such as {strange[0].as_py()!r}; they count as unlabelled"
            )
    y = torch.from_numpy(found.fill_null(-1).to_numpy().astype("int64"))
    return y, called, notes


def class_text(name: Class) -> str:
    """Return what a class is called in a table: true and false are written small, as in Arrow."""
    return str(name).lower() if isinstance(name, bool) else str(name)


def class_names(column: pa.ChunkedArray, y: Tensor, classes: Sequence[Class]) -> tuple[Class, ...]:
    """Return the classes as a column of text spells them, most often if in several ways.

    Example:
        >>> column = pa.chunked_array([["True", "FALSE", "True"]])
        >>> class_names(column, torch.tensor([1, 0, 1]), (False, True))
        ('FALSE', 'True')
    """
    plain = [class_text(name) for name in classes]
    if not is_string(column.type) or all(isinstance(name, str) for name in classes):
        return tuple(classes)
    cells = pa.table({"y": y.numpy(), "cell": column}).filter(pc.field("y") >= 0)
    counts = cells.group_by(["y", "cell"]).aggregate([([], "count_all")])
    order = [("count_all", "descending"), ("cell", "ascending")]
    usual: dict[int, str] = {}
    for row in counts.sort_by(order).to_pylist():
        usual.setdefault(row["y"], row["cell"])
    spelt = [usual.get(index, name) for index, name in enumerate(plain)]
    return tuple(classes) if spelt == plain else tuple(spelt)


def read_split(column: pa.ChunkedArray, name: str) -> dict[str, Tensor]:
    """Return the three masks that a column of train, val and test stands for.

    Example:
        >>> read_split(pa.chunked_array([["train", "Test", None]]), "part")["test_mask"]
        tensor([False,  True, False])
    """
    words = pc.utf8_lower(pc.utf8_trim_whitespace(_as_text(column, f"split column {name!r}")))
    words = pc.if_else(pc.equal(words, ""), None, words)
    found = pc.index_in(words, value_set=pa.array(list(_PARTS)))
    strange = words.filter(pc.and_(pc.is_valid(words), pc.is_null(found)))
    if len(strange):
        raise GraphError(
            f"the split column {name!r} must hold train, val or test, or nothing for unused nodes "
            f"(got {strange[0].as_py()!r})"
        )
    parts = pa.array([*_PARTS.values(), -1])
    part = torch.from_numpy(parts.to_numpy()[found.fill_null(len(_PARTS)).to_numpy()])
    return {mask: part == i for i, mask in enumerate(MASKS)}


def _categorical(column: pa.ChunkedArray, name: str, text: bool) -> pa.ChunkedArray:
    """Return labels as text, integers or booleans."""
    if pa.types.is_nested(column.type):
        raise GraphError(
            f"the label {name!r} must hold one class per node (got {column.type}): "
            "multi-label targets aren't supported; make one column per label and train on each"
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
        column = _guess(column) if text else column
    if pa.types.is_floating(column.type):
        column = _whole(column, name)
    if pa.types.is_integer(column.type):
        distinct = pc.count_distinct(column).as_py()
        if distinct > _MOST_NUMBERS:
            raise _regression(name, f"{distinct} different numbers")
    elif not is_string(column.type) and not pa.types.is_boolean(column.type):
        column = _as_text(column, f"label {name!r}")
    return column


def _as_text(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise GraphError(
            f"the {what} must hold text, integers or booleans (got {column.type}); convert it"
        ) from error


def _guess(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text as integers, booleans or floats if all of it is; codes such as 007 stay text."""
    integers = plain_integers(column)
    if integers is not None:
        return integers
    lower = pc.utf8_lower(column)
    booleans = pc.is_in(lower.drop_null(), value_set=pa.array(["true", "false"]))
    if pc.all(booleans, min_count=0).as_py():
        return pc.equal(lower, "true")
    if pc.any(pc.match_substring_regex(column, _LEADING_ZERO)).as_py():
        return column
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        return column


def _whole(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    column = pc.if_else(pc.is_nan(column), None, column)
    fractions = column.filter(pc.not_equal(pc.floor(column), column))
    if len(fractions):
        raise _regression(name, f"fractions such as {fractions[0].as_py()!r}")
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise _regression(name, "numbers beyond 64 bits") from error


def _regression(name: str, got: str) -> GraphError:
    return GraphError(
        f"the label {name!r} must hold classes (got {got}): regression isn't supported; "
        "cut the numbers into classes first, for instance with pandas.cut"
    )


def _check_classes(classes: tuple[Class, ...], name: str) -> None:
    if len(classes) < 2:
        only = f"only {classes[0]!r}" if classes else "no label at all"
        raise GraphError(
            f"the label {name!r} must have at least two classes (got {only}); "
            "there is nothing to tell apart"
        )
