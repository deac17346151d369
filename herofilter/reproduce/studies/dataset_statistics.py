"""The dataset table of the paper's appendix beside what the files hold."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops

from herofilter.config import Config
from herofilter.measures import edge_heterophily, node_heterophily
from herofilter.report.figure import Bars, Figure, Panel
from herofilter.reproduce.studies.graphs import is_there, kept_graph
from herofilter.reproduce.studies.study import Finished, Record, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

_PAPER = Path(__file__).parent / "paper_statistics.csv"
# what each column of the paper may count, the plainest reading first
READINGS: dict[str, dict[str, str]] = {
    "nodes": {"nodes": "nodes"},
    "edges": {
        "pairs": "pairs of neighbours, without loops and duplicates",
        "arcs": "edges with their direction, without duplicates",
        "listed": "edges as the file lists them",
        "pairs_and_loops": "pairs of neighbours and loops",
    },
    "classes": {"classes": "classes"},
    "features": {"features": "features"},
    "heterophily": {
        "node_heterophily": "the mean over nodes (Definition 1)",
        "edge_heterophily": "the share of listed edges with different labels",
    },
}
# the same raw files under another name
STRUCTURE = {"ogbn-arxiv": "arxiv-structure", "arxiv-year": "arxiv-year-structure"}
_ROUNDING = 0.005
_SAME_AS = "the paper's number is that of"


@lru_cache(maxsize=1)
def paper_statistics() -> dict[str, dict[str, float]]:
    """Return the paper's table by graph and column.

    Example:
        >>> paper_statistics()["cora"]["edges"]
        5278.0
    """
    with _PAPER.open(encoding="utf-8", newline="") as file:
        return {
            row["graph"]: {key: float(value) for key, value in row.items() if key != "graph"}
            for row in csv.DictReader(file)
        }


def statistics_of(data: Data) -> Record:
    """Return every count that a column of the table may mean.

    Example:
        >>> edges, labels = torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 0, 1])
        >>> statistics_of(Data(edge_index=edges, y=labels, num_nodes=3))["pairs"]
        2
    """
    n = int(data.num_nodes or 0)
    arcs = coalesce(data.edge_index, num_nodes=n)
    without, _ = remove_self_loops(arcs)
    both = coalesce(torch.cat([without, without.flip(0)], dim=1), num_nodes=n)
    pairs = both.size(1) // 2
    return {
        "nodes": n,
        "pairs": pairs,
        "arcs": arcs.size(1),
        "listed": data.edge_index.size(1),
        "pairs_and_loops": pairs + arcs.size(1) - without.size(1),
        "classes": int(data.y.max()) + 1,
        "features": int(data.num_features) if data.get("x") is not None else None,
        "node_heterophily": node_heterophily(data),
        "edge_heterophily": edge_heterophily(data),
    }


def count(task: Task) -> Record:
    """Return the statistics of the task's graph."""
    return statistics_of(kept_graph(task.graph))


class DatasetStatistics(Study):
    """Does the paper's dataset table agree with the files?"""

    name = "dataset-statistics"
    title = "Dataset statistics"
    reproduces = "the table of dataset statistics (appendix)"
    claim = "nodes, edges, classes, features and mean node heterophily of twelve graphs."

    def tasks(self, quick: bool) -> list[Task]:
        if quick:
            return [Task("karate", "none", Config(), 0, count, "statistics", "karate")]
        return [
            Task(found, "none", Config(), 0, count, "statistics", graph)
            for graph in paper_statistics()
            for found in (graph, STRUCTURE.get(graph, graph))
            if is_there(found)
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        # a graph with features comes before the same one without
        records: dict[str, Record] = {}
        for task, record in finished:
            records.setdefault(task.variant, record)
        rows = [row for graph, record in records.items() for row in _cells(graph, record)]
        known = [row for row in rows if row["paper"] is not None]
        return Summary(rows, _figure(records), _finding(known, records))


def _cells(graph: str, record: Mapping[str, float | None]) -> Iterator[Row]:
    paper = paper_statistics().get(graph, {})
    for column, readings in READINGS.items():
        ours = record[next(iter(readings))]
        if ours is None:
            continue
        printed = paper.get(column)
        yield {
            "graph": graph,
            "column": column,
            "ours": ours,
            "paper": printed,
            "equal": None if printed is None else _equal(ours, printed),
            "explanation": _explain(graph, column, record),
        }


def _equal(ours: float | None, printed: float | None) -> bool:
    if ours is None or printed is None:
        return False
    # two decimals are printed of a share, all digits of a count
    return abs(ours - printed) <= (_ROUNDING + 1e-9 if printed < 1 else 0)


def _explain(graph: str, column: str, record: Mapping[str, float | None]) -> str:
    paper, readings = paper_statistics(), READINGS[column]
    if graph not in paper:
        return "not in the paper's table"
    row = paper[graph]
    for key, text in readings.items():
        if _equal(record[key], row[column]):
            return f"{_SAME_AS} {text}" if len(readings) > 1 else ""
    others = {other: entry for other, entry in paper.items() if other != graph}
    for other, entry in others.items():
        if all(entry[key] == row[key] for key in ("edges", "heterophily")):
            return f"the paper has the same edges and heterophily for {other}"
        same_graph = STRUCTURE.keys() >= {graph, other}
        if same_graph and any(_equal(record[key], entry[column]) for key in readings):
            return (
                f"for {other}, the same graph, the paper has {entry[column]:,.0f}, which is right"
            )
    return "no count of ours gives the paper's number"


def _figure(records: Mapping[str, Record]) -> Figure:
    graphs = list(records)
    paper = paper_statistics()
    marks = (
        Bars("Definition 1", graphs, [records[graph]["node_heterophily"] for graph in graphs]),
        Bars("edges", graphs, [records[graph]["edge_heterophily"] for graph in graphs]),
        Bars("paper", graphs, [paper.get(graph, {}).get("heterophily") for graph in graphs]),
    )
    return Figure("Heterophily of the graphs", (Panel("", "", "heterophily", marks),))


def _finding(known: Sequence[Row], records: Mapping[str, Record]) -> Finding:
    equal = sum(row["equal"] for row in known)
    absent = [graph for graph in paper_statistics() if graph not in records]
    text = [f"Of {len(known)} numbers that can be checked, {equal} equal the plainest count."]
    if absent:
        text.append(f"Not checked, because their files aren't here: {', '.join(absent)}.")
    share = equal / len(known) if known else 0.0
    word = CONFIRMED if share == 1 else WEAKER if share > 0.5 else NOT_CONFIRMED
    unequal = [row for row in known if not row["equal"]]
    table = [
        (
            row["graph"],
            row["column"],
            _number(row["paper"]),
            _number(row["ours"]),
            row["explanation"],
        )
        for row in unequal
    ]
    reread = sum(row["explanation"].startswith(_SAME_AS) for row in unequal)
    why = (
        f"{equal} of {len(known)} numbers are the same; of the other {len(unequal)}, {reread} "
        "follow from another way of counting."
        if known
        else "None of these graphs is in the paper's table."
    )
    titles = ("graph", "column", "paper", "ours", "explanation")
    return Finding(tuple(text), word, why, titles, tuple(table))


def _number(value: float) -> str:
    """Return all digits of a count and three decimals of a share.

    Example:
        >>> _number(13975788.0), _number(0.19)
        ('13,975,788', '0.190')
    """
    return f"{value:,.0f}" if value >= 1 else f"{value:.3f}"
