import io
import json
from pathlib import Path

import pytest
from rich.table import Table

from herofilter.harmless import harmless
from herofilter.report.accuracy_table import accuracy_table
from herofilter.report.console import demo_table, fit_table
from herofilter.report.table_page import console_table
from herofilter.report.table_protocol import shown_graphs
from herofilter.report.terminal import Console, in_parts

ROOT = Path(__file__).parents[2]
ESCAPES = "user\x1b[2J\x1b]0;title\x07\r\x9b31m\u202eevil\x7f"


def console(width: int = 80, terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=terminal)


def printed(target: Console) -> str:
    file = target.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_every_control_character_becomes_visible() -> None:
    shown = harmless(ESCAPES)
    assert shown == "user␛[2J␛]0;title␇␍\ufffd31m\ufffdevil␡"
    assert harmless("two\nlines\tand a tab, été 漢字 🙂") == "two\nlines\tand a tab, été 漢字 🙂"


@pytest.mark.parametrize("terminal", [False, True])
def test_foreign_texts_cannot_control_the_terminal(terminal: bool) -> None:
    table = Table("node", title=ESCAPES)
    table.add_row(ESCAPES)
    target = console(terminal=terminal)
    target.print(table)
    target.print(ESCAPES, markup=False, highlight=False)
    text = printed(target)
    assert all(code not in text for code in ("\x1b[2J", "\x1b]0", "\x07", "\r", "\x9b", "\u202e"))
    assert "user␛[2J" in text
    # rich's own colours are still there, on a terminal
    assert ("\x1b[" in text) is terminal


def assert_fits(tables: list[Table], width: int = 80) -> str:
    target = console(width)
    for table in tables:
        target.print(table)
    text = printed(target)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    return text


def test_the_accuracy_benchmark_fits_80_columns() -> None:
    result = json.loads((ROOT / "results" / "accuracy.json").read_text())
    columns = ["paper", *result["columns"]]
    tables = list(in_parts(lambda some: accuracy_table(result, some), columns, console()))
    text = assert_fits(tables)
    assert len(tables) > 1
    for graph, row in result["graphs"].items():
        assert text.count(f" {graph} ") == len(tables)
        for entry in row["columns"].values():
            assert entry is None or f"{100 * entry['test_accuracy']['mean']:.1f}" in text
    # a wide terminal has one table
    assert (
        len(list(in_parts(lambda some: accuracy_table(result, some), columns, console(160)))) == 1
    )


def test_the_tables_of_the_paper_fit_80_columns() -> None:
    cell = {
        "paper": (74.4, 1.0),
        "paper_ran_out": False,
        "reason": "",
        "test": {"mean": 0.7, "std": 0.02},
        "rank": 3,
        "difference": -4.4,
    }
    rows = ["polyformer", "herofilter-directed"]
    graph = {"why": "", "metric": "accuracy", "rows": dict.fromkeys(rows, cell)}
    result = {
        "table": "heterophilic",
        "rows": rows,
        "titles": {row: row for row in rows},
        "graphs": {f"graph-{number}": graph for number in range(8)},
    }
    graphs = shown_graphs(result)
    tables = list(in_parts(lambda some: console_table(result, some), graphs, console()))
    text = assert_fits(tables)
    assert text.count("70.0 ± 2.0 (3)") == 16
    assert all(f"graph-{number}" in text for number in range(8))


def test_the_demo_fits_80_columns() -> None:
    assert_fits([demo_table(json.loads((ROOT / "results" / "demo.json").read_text()))])


def test_the_table_of_fit_fits_80_columns() -> None:
    entry = {
        "title": "HeroFilter + labels",
        "finished": True,
        "validation": {"accuracy": 1.0},
        "test": {"accuracy": 1.0, "balanced_accuracy": 1.0, "macro_f1": 1.0, "auc": 1.0},
        "trials": 12,
    }
    metrics = {"kept": "a", "metric": "accuracy", "unfinished": [], "models": {"a": entry}}
    assert "HeroFilter + labels" in assert_fits([fit_table(metrics)])
