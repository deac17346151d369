"""Which column is which: by the given name, a usual one, or the position."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from herofilter.errors import DatasetError, did_you_mean

_SOURCES = ("source", "src", "from", "source_id", "src_id", "from_id", "start", "head", "u")
_TARGETS = ("target", "dst", "to", "target_id", "dst_id", "to_id", "destination", "end", "tail")
_USUAL = {
    "source": (*_SOURCES, "node1", "id1"),
    "target": (*_TARGETS, "dest", "v", "node2", "id2"),
    "id": ("id", "node", "node_id", "nodeid", "node id", "name", "key", "vertex", "user_id"),
}
# row numbers that a data frame wrote along with its columns
_WEIGHTS = ("weight", "weights", "edge_weight", "edge weight")
_ROW_NUMBERS = ("", "Unnamed: 0", "__index_level_0__")


@dataclass(frozen=True)
class TableColumns:
    """What the columns of the user's tables are called, and how the tables are read.

    Args:
        id: the ids, in the nodes.
        source, target: where an edge starts and ends; usual other names are found, with a note.
        weight: the weights of the edges.
        label: the classes, in the nodes.
        split: which nodes are for training, validation and test.
        features: the columns to learn from; by default all others.
        drop_unknown: whether edges to ids that no node has are dropped instead of refused.
        encoding: of text files.

    Example:
        >>> TableColumns(id="person", label="team").source
        'source'
    """

    id: str = "id"
    source: str = "source"
    target: str = "target"
    weight: str | None = None
    label: str | None = None
    split: str | None = None
    features: tuple[str, ...] | None = None
    drop_unknown: bool = False
    encoding: str = "utf-8"


def find_column(names: Sequence[str], wanted: str, what: str) -> str:
    """Return the column called ``wanted``, else the only one that differs by case or spaces."""
    if wanted in names:
        return wanted
    alike = [name for name in names if _plain(name) == _plain(wanted)]
    if len(alike) == 1:
        return alike[0]
    raise DatasetError(
        f"the {what} must have a column {wanted!r} "
        f"(got {', '.join(map(repr, names))}){did_you_mean(wanted, names)}"
    )


def find_id(names: Sequence[str], wanted: str) -> tuple[str, list[str]]:
    """Return the column of node ids and notes; a usual name stands in for the default one."""
    found = _usual(names, wanted) or (names[0] if len(names) == 1 and wanted == "id" else None)
    if found is None:
        found = _find_named(names, wanted, "nodes", "id")
    return found, _note("id", wanted, found)


def find_ends(names: Sequence[str], source: str, target: str) -> tuple[str, str, list[str]]:
    """Return the columns in which edges start and end, and notes.

    Usual names stand in for the default ones; without those, the first two columns do.
    """
    usable = [name for name in names if name not in _ROW_NUMBERS]
    if len(usable) < 2:
        raise DatasetError(
            "the edges must have two columns of node ids "
            f"(got {', '.join(map(repr, names)) or 'none'}); one edge is one row"
        )
    start, end = _usual(names, source), _usual(names, target)
    if start is None and end is None and (source, target) == ("source", "target"):
        start, end = usable[:2]
    start = start or _find_named(names, source, "edges", "source")
    end = end or _find_named(names, target, "edges", "target")
    if start == end:
        raise DatasetError(
            f"edges must start and end in different columns (got {start!r} for both); "
            "name them with source and target"
        )
    return start, end, [*_note("source", source, start), *_note("target", target, end)]


def unused_weight(names: Sequence[str], taken: Sequence[str | None]) -> list[str]:
    """Return a note if some column looks like the weights of the edges, but isn't taken."""
    found = [name for name in names if _plain(name) in _WEIGHTS and name not in taken]
    return [
        f"column {name!r} of the edges isn't used; --weight {shlex.quote(name)} uses it"
        for name in found[:1]
    ]


def usual_weight(names: Sequence[str]) -> str | None:
    """Return the first column whose name is a usual one for the weights of edges."""
    return next((name for name in names if _plain(name) in _WEIGHTS), None)


def find_features(
    names: Sequence[str], features: Sequence[str] | None, taken: Sequence[str | None]
) -> tuple[list[str], list[str]]:
    """Return the feature columns, by default all that aren't ``taken``, and notes."""
    if features is None:
        free = [name for name in names if name not in taken]
        row_numbers = [name for name in free if name in _ROW_NUMBERS]
        notes = [f"column {name!r} was left out: it is a row number" for name in row_numbers]
        return [name for name in free if name not in _ROW_NUMBERS], notes
    found = [find_column(names, name, "nodes") for name in features]
    clash = next((name for name in found if name in taken), None)
    if clash is not None:
        raise DatasetError(
            f"features must not be the id, the label or the split (got {clash!r}); leave it out"
        )
    return found, []


def _find_named(names: Sequence[str], wanted: str, what: str, role: str) -> str:
    """Return the column called ``wanted``; an error says which option names another."""
    try:
        return find_column(names, wanted, what)
    except DatasetError as error:
        # nobody mistyped a default: a name that looks like it is there by chance
        said = str(error).split(" (did you mean")[0] if wanted == role else str(error)
        raise DatasetError(f"{said}; name the column of ids with --{role}") from None


def _usual(names: Sequence[str], wanted: str) -> str | None:
    if wanted in names:
        return wanted
    by_plain = {_plain(name): name for name in reversed(names)}
    return next((by_plain[name] for name in _USUAL.get(wanted, ()) if name in by_plain), None)


def _note(role: str, wanted: str, found: str) -> list[str]:
    return [] if found == wanted else [f"column {found!r} was taken for {role}"]


def _plain(name: str) -> str:
    return name.strip().casefold()
