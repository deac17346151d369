"""The pages of the paper's tables: what they say of every kind of cell."""

import csv
import io
from typing import Any

import pytest
from rich.console import Console

from herofilter.report.table_page import console_table, ours, paper, table_csv, table_page
from herofilter.reproduce.ranks import add_ranks


def cell(
    mean: float, paper_mean: float | None, settings: Any = None, **more: Any
) -> dict[str, Any]:
    return {
        "paper": None if paper_mean is None else (paper_mean, 1.0),
        "paper_ran_out": False,
        "reason": "",
        "test": {"mean": mean, "std": 0.02, "values": [mean]},
        "val": {"mean": mean + 0.01},
        "difference": None if paper_mean is None else 100 * mean - paper_mean,
        "seconds": 1.234,
        "done": [0, 1],
        "choices": [
            {"splits": [0], "settings": {"lr": 0.02}},
            {"splits": [1], "settings": settings or {}},
        ],
        **more,
    }


def absent(reason: str, ran_out: bool = False) -> dict[str, Any]:
    return {"paper": None, "paper_ran_out": ran_out, "reason": reason}


@pytest.fixture
def result() -> dict[str, Any]:
    rows = ["mlp", "gcn", "herofilter", "herofilter-directed"]
    texas = [cell(0.7, 74.4), cell(0.65, 58.7, {"lr": 0.02}), cell(0.86, 85.0), cell(0.9, None)]
    patents = [absent("no data here", ran_out=name == "gcn") for name in rows]
    part = [
        cell(0.5, 50.0, reason="2 of 10 splits"),
        *(absent("not reached yet") for _ in rows[1:]),
    ]
    summary: dict[str, Any] = {
        "command": "herofilter bench heterophilic",
        "table": "heterophilic",
        "trials": 6,
        "protocol": {"lr": 0.01},
        "rows": rows,
        "titles": {**{row: row for row in rows}, "herofilter": "HeroFilter"},
        "graphs": {
            "texas": {
                "why": "",
                "metric": "accuracy",
                "nested": True,
                "search_splits": [0, 1],
                "rows": dict(zip(rows, texas, strict=True)),
            },
            "snap-patents": {
                "why": "no data here",
                "metric": "accuracy",
                "nested": None,
                "search_splits": [],
                "rows": dict(zip(rows, patents, strict=True)),
            },
            "actor": {
                "why": "",
                "metric": "auc",
                "nested": False,
                "search_splits": [0, 1],
                "rows": dict(zip(rows, part, strict=True)),
            },
        },
    }
    add_ranks(summary)
    return summary


def test_page_shows_ours_the_rank_and_the_papers(result: dict[str, Any]) -> None:
    page = table_page(result)
    assert "| mlp | 70.0 ± 2.0 (2) ▼<br>74.4 ± 1.0 | –<br>– |" in page
    assert "| gcn | 65.0 ± 2.0 (3)<br>58.7 ± 1.0 | –<br>OOM |" in page
    assert "| herofilter-directed | 90.0 ± 2.0<br>– |" in page
    assert "written by `herofilter bench heterophilic`" in page
    assert "| HeroFilter | 86.0 ± 2.0 (1)<br>85.0 ± 1.0 |" in page
    assert "| model | texas | snap-patents | actor (ROC AUC) | mean rank |" in page
    assert "| 2.00 (1 graph) |" in page
    assert (
        "By mean rank, of the 3 rows that have a rank on one graph only, so read it as that: "
        "HeroFilter 1.0, mlp 2.0, gcn 3.0 … A rank is among the complete rows of a graph (texas 3)."
    ) in page


def test_page_says_over_how_many_graphs_a_mean_rank_is(result: dict[str, Any]) -> None:
    for row in ("mlp", "gcn"):
        result["graphs"]["actor"]["rows"][row] = cell(0.3, None)
    add_ranks(result)
    page = table_page(result)
    assert (
        "By mean rank, of the 2 rows that have a rank on 2 graphs: mlp 1.5, gcn 2.0 … A rank is "
        "among the complete rows of a graph (texas 3, actor 2). The mean of the other 1 ranked "
        "rows is over the fewer graphs that the table says, so it can't be compared with these."
    ) in page
    assert "| 1.00 (1 graph) |" in page
    assert "| 1.50 (2 graphs) |" in page


def test_page_says_why_cells_are_empty(result: dict[str, Any]) -> None:
    page = table_page(result)
    assert "- **snap-patents**, all models: no data here." in page
    assert "| 50.0 ± 2.0 †2 of 10 splits<br>50.0 ± 1.0 |" in page
    assert "- **actor**, mlp" not in page
    assert "- **actor**, gcn, herofilter, herofilter-directed: not reached yet." in page


def test_page_lists_what_is_far_from_the_paper(result: dict[str, Any]) -> None:
    page = table_page(result)
    assert (
        "Of 3 finished cells with a number in the paper, 1 are more than 2 points above it, "
        "1 more than 2 points below."
    ) in page
    assert "- mlp on texas: 70.0 against 74.4 (-4.4)" in page
    assert "- gcn on texas: 65.0 against 58.7 (+6.3)" in page


def test_page_says_who_chose_the_settings(result: dict[str, Any]) -> None:
    page = table_page(result)
    assert (
        "- texas: every split chooses its own settings, by its own validation nodes only." in page
    )
    assert "- actor (splits 0, 1): a trial is judged by the mean over the validation nodes" in page
    assert "so here labels of test nodes took part in the choice" in page
    assert "- **mlp**: texas `lr=0.02` (1), the first trial (1); actor" in page
    assert "- **gcn**: texas `lr=0.02` (2)\n" in page


def test_a_table_without_the_paper_leaves_it_out(result: dict[str, Any]) -> None:
    result["table"] = "modern"
    for entry in result["graphs"].values():
        for found in entry["rows"].values():
            found.update(paper=None, paper_ran_out=False, difference=None)
    page = table_page(result)
    assert "| mlp | 70.0 ± 2.0 (2) | – |" in page
    assert "which the paper doesn't have" in page
    assert "the paper's number" not in page
    assert "Where ours and the paper's differ" not in page


def test_page_of_nothing(result: dict[str, Any]) -> None:
    for entry in result["graphs"].values():
        entry["rows"] = {row: absent("not reached yet", ran_out=True) for row in result["rows"]}
    add_ranks(result)
    page = table_page(result)
    assert "No cell is finished yet." in page
    assert "None yet." in page
    assert "By mean rank" not in page


def test_csv_has_a_line_per_cell(result: dict[str, Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(table_csv(result))))
    assert len(rows) == 12
    first = rows[0]
    assert {row["title"] for row in rows if row["model"] == "herofilter"} == {"HeroFilter"}
    assert {row["metric"] for row in rows if row["graph"] == "actor"} == {"auc"}
    assert (first["model"], first["graph"], first["test_mean"]) == ("mlp", "texas", "70.00")
    assert (first["paper_mean"], first["difference"], first["rank"]) == ("74.4", "-4.40", "2")
    patents = next(r for r in rows if (r["model"], r["graph"]) == ("gcn", "snap-patents"))
    assert (patents["paper_mean"], patents["test_mean"]) == ("OOM", "")
    assert patents["reason"] == "no data here"


def test_terminal_leaves_out_graphs_that_are_not_there(result: dict[str, Any]) -> None:
    # as the command's own console is: markup isn't read
    console = Console(width=120, record=True, file=io.StringIO(), markup=False)
    console.print(console_table(result))
    text = console.export_text()
    assert "snap-patents" not in text
    assert "70.0 ± 2.0 (2) ▼" in text
    assert "[" not in text


def test_cells() -> None:
    assert ours(absent("x")) == "–"
    assert paper(absent("x", ran_out=True)) == "OOM"
    assert paper(absent("x")) == "–"
