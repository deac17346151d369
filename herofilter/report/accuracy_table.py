"""The accuracy benchmark as a table in the terminal."""

from typing import Any

from rich.table import Table

from herofilter.report.console import percent

DASH = "–"


def accuracy_table(result: dict[str, Any]) -> Table:
    """Return test accuracy per graph: the paper's, then one column per model or preset."""
    table = Table(title="Test accuracy (%), mean ± std over seeds and splits")
    table.add_column("graph")
    for title in ("paper", *result["columns"].values()):
        table.add_column(title.replace(", ", ",\n"), justify="right", no_wrap=True)
    for graph, row in result["graphs"].items():
        paper = DASH if row["paper"] is None else percent(row["paper"])
        entries = [row["columns"][column] for column in result["columns"]]
        table.add_row(graph, paper, *(titled_cell(entry, "\n") for entry in entries))
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
