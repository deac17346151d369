"""The options that say what the user's tables are and what their columns are called."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from herofilter.data.tables.table_columns import TableColumns
from herofilter.harmless import harmless

_EDGES = typer.Option(help="Table of edges: CSV, TSV or Parquet, also .gz and .zst.")
_NODES = typer.Option(help="Table of nodes, one row each.")
Edges = Annotated[Path, _EDGES]
Nodes = Annotated[Path, _NODES]
NewEdges = Annotated[Path | None, _EDGES]
NewNodes = Annotated[Path | None, _NODES]
Label = Annotated[str, typer.Option(help="Column of the nodes that is to be predicted.")]
KnownLabel = Annotated[str | None, typer.Option(help="Column of the nodes' classes.")]
Undirected = Annotated[bool, typer.Option("--undirected", help="Ignore the direction of edges.")]


def _all_columns(
    id: Annotated[str, typer.Option("--id", help="Column of the nodes' ids.")] = "id",
    source: Annotated[str, typer.Option(help="Column where an edge starts.")] = "source",
    target: Annotated[str, typer.Option(help="Column where an edge ends.")] = "target",
    weight: Annotated[str | None, typer.Option(help="Column of the edges' weights.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Column that says train, val or test of each node.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Columns to learn from, such as age,country; all by default.")
    ] = None,
    drop_unknown: Annotated[
        bool, typer.Option("--drop-unknown", help="Drop edges to ids that no node has.")
    ] = False,
    encoding: Annotated[
        str, typer.Option(help="Encoding of text files, such as cp1252 or utf-16.")
    ] = "utf-8",
) -> TableColumns:
    from herofilter.data.tables.table_path import check_encoding

    check_encoding(encoding)
    return TableColumns(
        id=id,
        source=source,
        target=target,
        weight=weight,
        split=split,
        features=split_names(features),
        drop_unknown=drop_unknown,
        encoding=encoding,
    )


def with_columns(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each column in place of its argument ``columns``.

    The options are the arguments of one function, so that all commands have the same ones. The
    command is called with the :class:`TableColumns` that they make, once the encoding is known.

    Args:
        left_out: options that the command doesn't have.
    """
    known = inspect.signature(_all_columns).parameters
    options = [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, option in known.items()
        if name not in left_out
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        places = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for option in own.parameters.values()
        ]
        at = list(own.parameters).index("columns")
        shown = own.replace(parameters=[*places[:at], *options, *places[at + 1 :]])

        @functools.wraps(command)
        def run(**given: Any) -> None:
            columns = _all_columns(**{option.name: given.pop(option.name) for option in options})
            command(columns=columns, **given)

        # what typer reads options from
        vars(run)["__signature__"] = shown
        run.__annotations__ = {name: option.annotation for name, option in shown.parameters.items()}
        return run

    return decorate


def split_names(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a text such as ``age, country``, or None for None.

    Example:
        >>> split_names("age, country")
        ('age', 'country')
    """
    return None if text is None else tuple(name.strip() for name in text.split(","))


def print_notes(notes: Iterable[str], as_json: bool) -> None:
    """Print what was left out, merged or assumed to the error stream; JSON output holds it."""
    for note in () if as_json else notes:
        print(harmless(f"note: {note}"), file=sys.stderr)


def print_warnings(warnings: Iterable[object], as_json: bool) -> None:
    """Print warnings to the error stream, each with its cure; JSON output holds them."""
    for warning in () if as_json else warnings:
        print(harmless(f"warning: {warning}"), file=sys.stderr)
