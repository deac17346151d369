"""The accuracy benchmark as a table in the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from herofilter.report.console import percent

DASH = "–"
PAPER = "paper"


def accuracy_table(result: dict[str, Any], columns: Sequence[str] | None = None) -> Table:
    """Return test accuracy per graph: the paper's, then one column per model or preset.

    Args:
        result: of the benchmark.
        columns: some of ``paper`` and the columns of the result; by default all.
    """
    columns = (PAPER, *result["columns"]) if columns is None else columns
    table = Table(title="Test accuracy (%), mean ± std over seeds and splits")
    table.add_column("graph")
    titles = {PAPER: PAPER, **result["columns"]}
    for column in columns:
        table.add_column(titles[column].replace(", ", ",\n"), justify="right", no_wrap=True)
    for graph, row in result["graphs"].items():
        paper = DASH if row["paper"] is None else percent(row["paper"])
        cells = {PAPER: paper} | {
            column: titled_cell(entry, "\n") for column, entry in row["columns"].items()
        }
        table.add_row(graph, *(cells[column] for column in columns))
    return table


def accuracy_cell(entry: dict[str, Any] | None) -> str:
    """Return ``mean ± std`` in percent, the mean alone for one value, a dash for none.

    Example:
        >>> accuracy_cell({"count": 1, "test_accuracy": {"mean": 0.851, "std": 0.0}})
        '85.1'
    """
    if entry is None:
        return DASH
    accuracy = entry["test_accuracy"]
    return percent(accuracy) if entry["count"] > 1 else f"{100 * accuracy['mean']:.1f}"


def titled_cell(entry: dict[str, Any] | None, between: str) -> str:
    """Return the accuracy, and after ``between`` what was trained where the column doesn't say.

    Example:
        >>> entry = {"count": 1, "test_accuracy": {"mean": 0.851, "std": 0.0}}
        >>> titled_cell({**entry, "model": "herofilter", "title": "summary-mlp"}, ", ")
        '85.1, summary-mlp'
    """
    if entry is None or entry["title"] == entry["model"]:
        return accuracy_cell(entry)
    return f"{accuracy_cell(entry)}{between}{entry['title']}"


def unfinished(result: dict[str, Any]) -> list[str]:
    """Return a line for every column with fewer splits than were asked for."""
    wanted = len(result["splits"])
    return [
        f"{graph}, {result['columns'][column]}: {len(entry['done'])} of {wanted} splits"
        for graph, row in result["graphs"].items()
        for column, entry in row["columns"].items()
        if entry is not None and len(entry["done"]) < wanted
    ]
