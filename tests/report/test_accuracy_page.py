import json
import re
from pathlib import Path
from typing import Any

import pytest

from herofilter.report.accuracy_page import results_page
from herofilter.report.accuracy_table import accuracy_table
from tests.report.test_console import cells, text_of

ROOT = Path(__file__).parent.parent.parent


def entry(mean: float, preset: str = "default", **changes: Any) -> dict[str, Any]:
    return {
        "model": "herofilter",
        "title": "HeroFilter",
        "preset": preset,
        "changed": {},
        "done": list(range(10)),
        "count": 10,
        "test_accuracy": {"mean": mean, "std": 0.0123, "values": []},
        "interval": [mean - 0.01, mean + 0.01],
        "val_accuracy": {"mean": mean + 0.02, "std": 0.01, "values": []},
        "seconds": 12.34,
        "config": {},
        **changes,
    }


def made_up() -> dict[str, Any]:
    changed = {"lr": 0.005, "filter_starts": ["low", "hop2"], "summary": False}
    return {
        "command": "herofilter bench herofilter",
        "splits": list(range(10)),
        "columns": {
            "mlp": "MLP",
            "tuned": "tuned",
            "tuned-directed": "directed, tuned",
        },
        "workers": [2],
        "cores": [4],
        "environments": [
            {
                "python": "3.11.7",
                "packages": {"torch": "2.4", "herofilter": "0.1.0"},
                "cores": 4,
                "memory_gib": 16.0,
            }
        ],
        "graphs": {
            "texas": {
                "variant": "geom-gcn 48/32/20",
                "seeds": [0, 1, 2],
                "paper": {"mean": 0.85, "std": 0.035},
                "columns": {
                    "mlp": entry(0.8, model="mlp", title="mlp"),
                    "tuned": entry(0.861, "tuned", changed=changed, title="summary-mlp"),
                    "tuned-directed": None,
                },
            },
            "squirrel": {
                "variant": "geom-gcn 48/32/20",
                "seeds": [0],
                "paper": None,
                "columns": {
                    "mlp": entry(0.33, model="mlp", title="mlp", count=1, interval=None),
                    "tuned": None,
                    "tuned-directed": entry(0.7, "tuned-directed"),
                },
            },
        },
    }


def tables(page: str) -> list[list[list[str]]]:
    found = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        for table in found
    ]


def test_tables() -> None:
    accuracy, intervals, seconds, validation = tables(results_page(made_up()))
    assert accuracy == [
        ["graph", "paper", "MLP", "tuned", "directed, tuned"],
        ["---", "---:", "---:", "---:", "---:"],
        ["texas", "85.0 ± 3.5", "80.0 ± 1.2", "86.1 ± 1.2<br>summary-mlp", "–"],
        ["squirrel", "–", "33.0", "–", "70.0 ± 1.2<br>HeroFilter"],
    ]
    assert intervals[2:] == [
        ["texas", "79.0 to 81.0", "85.1 to 87.1", "–"],
        ["squirrel", "–", "–", "69.0 to 71.0"],
    ]
    assert seconds[2:] == [["texas", "12.3", "12.3", "–"], ["squirrel", "12.3", "–", "12.3"]]
    assert validation[2] == ["texas", "82.0", "88.1", "–"]


def test_text() -> None:
    page = results_page(made_up())
    assert page.startswith("# Results\n\nThis page is written by `herofilter bench herofilter`")
    assert "Don't edit it by hand" in page
    assert (
        "- **texas**, tuned (summary-mlp): `filter_starts=low,hop2 lr=0.005 summary=false`\n"
        "- **squirrel**, directed, tuned (HeroFilter): the default configuration\n"
    ) in page
    assert "while 2 trainings ran at the same time, each on one thread, on 4 cores" in page
    assert "Splits: geom-gcn 48/32/20; 10 of each graph" in page
    assert "seeds 0, 1 and 2 on texas, whose test sets are tiny" in page
    assert "squirrel hold duplicate nodes" not in page
    assert "squirrel holds duplicate nodes" in page
    assert "never replace those of the others" in page
    assert "the labels of nearly all test nodes took part in the choice" in page
    assert "Python 3.11.7, torch 2.4" in page
    assert page.endswith("\n")
    assert "\n\n\n" not in page


def test_a_page_of_nothing_but_dashes() -> None:
    result = made_up()
    result.update(workers=[], cores=[], environments=[])
    del result["graphs"]["squirrel"]
    result["graphs"]["texas"]["columns"] = dict.fromkeys(result["columns"])
    page = results_page(result)
    assert tables(page)[0][2] == ["texas", "85.0 ± 3.5", "–", "–", "–"]
    assert "None of the graphs has a preset yet." in page
    assert "duplicate nodes" not in page
    assert "at the same time" not in page


def test_the_page_is_the_same_after_a_file() -> None:
    assert results_page(json.loads(json.dumps(made_up()))) == results_page(made_up())


def test_table_in_the_terminal() -> None:
    assert cells(text_of(accuracy_table(made_up()))) == [
        ["texas", "85.0 ± 3.5", "80.0 ± 1.2", "86.1 ± 1.2", "–"],
        ["", "", "", "summary-mlp", ""],
        ["squirrel", "–", "33.0", "–", "70.0 ± 1.2"],
        ["", "", "", "", "HeroFilter"],
    ]


def test_the_published_page_is_that_of_the_published_results() -> None:
    results, page = ROOT / "results/accuracy.json", ROOT / "docs/results.md"
    if not results.exists() and not page.exists():
        pytest.skip("the benchmark hasn't been published yet")
    result = json.loads(results.read_text(encoding="utf-8"))
    assert page.read_text(encoding="utf-8") == results_page(result)


def test_an_unfinished_column_says_so() -> None:
    result = made_up()
    assert "Not finished" not in results_page(result)
    result["graphs"]["texas"]["columns"]["mlp"]["done"] = [0, 1, 2]
    assert (
        "Not finished, so on fewer splits than the others: texas, MLP: 3 of 10 splits."
        in results_page(result)
    )
