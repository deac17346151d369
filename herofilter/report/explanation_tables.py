"""Explanations as tables: in the terminal, and as CSV or JSON files."""

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from herofilter.files import atomic_path
from herofilter.report.explanation_words import percent

TITLES = ("id", "prediction", "probability", "what", "node", "column", "value", "change", "without")
_COLUMNS_EACH = 3
_MEANING = "with an average value: with the mean of the training nodes in that column"


def explanation_tables(found: dict[str, Any], top: int = 10) -> list[Table]:
    """Return an explanation as tables: tokens, own columns, other nodes, as far as there are."""
    tables = [_token_table(found, top)] if found["tokens"] else []
    tables += [_column_table(found, top)] if found["columns"] else []
    return [*tables, *([_other_table(found)] if found["others"] else [])]


def summary_table(rows: Iterable[tuple[str, ...]]) -> Table:
    """Return many explanations as a table, one row each, from :func:`summary_row`."""
    table = Table(title="What the predictions rest on")
    titles = ("node", "prediction", "probability", "counts most of its columns", "of other nodes")
    for column in titles:
        table.add_column(column, justify="right" if column == "probability" else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def summary_row(found: dict[str, Any]) -> tuple[str, ...]:
    """Return the node, what was predicted, and what counts most."""
    own, other = (next(iter(found[part]), None) for part in ("columns", "others"))
    return (
        str(found["node"]),
        str(found["prediction"]),
        percent(found["probability"]),
        "" if own is None else _cell(own),
        "" if other is None else str(other["id"]),
    )


def importance_table(found: dict[str, Any]) -> Table:
    """Return the importance of columns as a table."""
    nodes = f"{found['nodes']} {found['part']} nodes"
    table = Table(
        title=f"How much worse the model gets when a column is shuffled ({nodes})",
        caption="in brackets the 95 % interval; a column whose interval of the loss includes 0 "
        "may not matter; columns that say the same stand in for each other",
    )
    for title in ("column", "log-loss rises by", "accuracy falls by (points)"):
        table.add_column(title, justify="left" if title == "column" else "right")
    for entry in found["columns"]:
        loss, low, high = (entry[key] for key in ("loss", "loss_low", "loss_high"))
        points = (100 * entry[f"accuracy{key}"] for key in ("", "_low", "_high"))
        table.add_row(
            Text(entry["column"]),
            Text(f"{loss:+.3f} [{low:+.3f}, {high:+.3f}]"),
            Text("{:+.1f} [{:+.1f}, {:+.1f}]".format(*points)),
        )
    return table


def write_explanations(path: Path, explanations: Iterable[dict[str, Any]]) -> None:
    """Write explanations to a file, one after the other.

    A name that ends in ``.json`` gives a list of them; any other a CSV table with a row for each
    column, other node, column of another node and token.
    """
    with atomic_path(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".json":
            between = "[\n"
            for found in explanations:
                file.write(between + json.dumps(found, indent=2))
                between = ",\n"
            file.write("\n]\n")
            return
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TITLES)
        for found in explanations:
            writer.writerows(_rows(found))


def write_importance(path: Path, found: dict[str, Any]) -> None:
    """Write the importance of columns to a ``.json`` or CSV file."""
    with atomic_path(path) as scratch, scratch.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".json":
            file.write(json.dumps(found, indent=2) + "\n")
            return
        writer = csv.DictWriter(file, list(found["columns"][0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found["columns"])


def _rows(found: dict[str, Any]) -> Iterator[list[Any]]:
    start = [found["node"], found["prediction"], round(found["probability"], 6)]

    def row(what: str, node: Any, effect: dict[str, Any]) -> list[Any]:
        numbers = [round(effect["change"], 6), round(effect["without"], 6)]
        return [*start, what, node, effect.get("column", ""), effect.get("value"), *numbers]

    for effect in found["columns"]:
        yield row("own column", found["node"], effect)
    for other in found["others"]:
        yield row("other node", other["id"], other)
        for effect in other["columns"]:
            yield row("column of other node", other["id"], effect)
    for token in found["tokens"]:
        change = round(token["change"], 6)
        yield [*start, f"token: {token['slot']}", token["id"], "", "", change, ""]


def _token_table(found: dict[str, Any], top: int) -> Table:
    shown = found["tokens"][:top]
    slots = dict.fromkeys(token["slot"] for token in shown)
    legend = [f"{slot}: {found['legend'][slot]}" for slot in slots]
    if any(token["id"] is None for token in shown):
        legend.append("all of them: all such nodes of the graph together")
    table = Table(
        title=Text(_title(found)), caption=Text("\n".join(legend)), caption_justify="left"
    )
    for column in ("token", "node", "score", "known label", "share"):
        table.add_column(column, justify="right" if column in ("score", "share") else "left")
    for token in shown:
        node = "all of them" if token["id"] is None else str(token["id"])
        score = "" if token["score"] is None else f"{token['score']:.3g}"
        label = "" if token["label"] is None else str(token["label"])
        share = f"{100 * token['share']:+.0f} %"
        table.add_row(token["slot"], Text(node), score, Text(label), share)
    return table


def _column_table(found: dict[str, Any], top: int) -> Table:
    title = f"Columns of {_title(found)}"
    table = Table(title=Text(title), caption=_MEANING, caption_justify="left")
    for column in ("column", "value", f"{found['prediction']} with an average value"):
        table.add_column(Text(column), justify="left" if column in ("column", "value") else "right")
    for effect in found["columns"][:top]:
        value = Text("" if effect["value"] is None else effect["value"])
        table.add_row(Text(effect["column"]), value, percent(effect["without"]))
    return table


def _other_table(found: dict[str, Any]) -> Table:
    table = Table(title=Text(f"Other nodes that count for {_title(found)}"))
    last = f"{found['prediction']} with an average value"
    for column in ("node", "known label", "column", "value", last):
        table.add_column(Text(column), justify="right" if column == last else "left")
    for other in found["others"]:
        label = "" if other["label"] is None else str(other["label"])
        node = Text(str(other["id"]))
        table.add_row(node, Text(label), "all columns", "", percent(other["without"]))
        for effect in other["columns"][:_COLUMNS_EACH]:
            value = Text("" if effect["value"] is None else effect["value"])
            table.add_row("", "", Text(effect["column"]), value, percent(effect["without"]))
    return table


def _title(found: dict[str, Any]) -> str:
    return f"{found['node']}: {found['prediction']} ({percent(found['probability'])})"


def _cell(effect: dict[str, Any]) -> str:
    value = "" if effect["value"] is None else f" ({effect['value']})"
    return f"{effect['column']}{value}"
