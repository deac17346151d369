"""The options that say what the user's tables are and what their columns are called."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

_EDGES = typer.Option(help="Table of edges: CSV, TSV or Parquet, also .gz and .zst.")
_NODES = typer.Option(help="Table of nodes, one row each.")
Edges = Annotated[Path, _EDGES]
Nodes = Annotated[Path, _NODES]
NewEdges = Annotated[Path | None, _EDGES]
NewNodes = Annotated[Path | None, _NODES]
Label = Annotated[str, typer.Option(help="Column of the nodes that is to be predicted.")]
KnownLabel = Annotated[str | None, typer.Option(help="Column of the nodes' classes.")]
Id = Annotated[str, typer.Option("--id", help="Column of the nodes' ids.")]
Source = Annotated[str, typer.Option(help="Column where an edge starts.")]
Target = Annotated[str, typer.Option(help="Column where an edge ends.")]
Weight = Annotated[str | None, typer.Option(help="Column of the edges' weights.")]
Split = Annotated[
    str | None, typer.Option(help="Column that says train, val or test of each node.")
]
Features = Annotated[
    str | None, typer.Option(help="Columns to learn from, such as age,country; all by default.")
]
Undirected = Annotated[bool, typer.Option("--undirected", help="Ignore the direction of edges.")]
DropUnknown = Annotated[
    bool, typer.Option("--drop-unknown", help="Drop edges to ids that no node has.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files, such as cp1252 or utf-16.")]


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
        print(f"note: {note}", file=sys.stderr)
