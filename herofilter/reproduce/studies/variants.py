"""The base of ablations: variants of a model on the same splits, and claims about pairs of them."""

import statistics
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

from herofilter.report.figure import Bars, Figure, Panel
from herofilter.reproduce.accuracy import mean_interval
from herofilter.reproduce.comparison import Comparison, compare
from herofilter.reproduce.studies.graphs import is_there
from herofilter.reproduce.studies.study import Finished, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import (
    NOT_CONFIRMED,
    Finding,
    is_constant,
    judge,
    judge_all,
)

Cell = tuple[float, float]
Graphs = Mapping[str, Sequence[int]]
Titles = Mapping[str, str]
Paper = Mapping[tuple[str, str], Cell]
Values = Mapping[tuple[str, str], Sequence[float]]
QUICK_GRAPHS = {"karate": (0, 1)}


class Claim(NamedTuple):
    """The paper has the first variant above the second on a graph, by some points or by any."""

    graph: str
    first: str
    second: str
    points: float | None = None


class VariantStudy(Study):
    """A study whose tasks are trainings, and whose claims are that one variant beats another.

    Attributes:
        graphs: the splits of each graph; one that isn't on disk is left out.
        titles: of the variants, in the order of the table.
        paper: mean and standard deviation of the paper, in percent, by graph and variant.
        optional: graphs that are left out where their files aren't on disk.
        text: what a reader must know beyond the table.
    """

    graphs: ClassVar[Graphs]
    titles: ClassVar[Titles]
    paper: ClassVar[Paper] = {}
    optional: ClassVar[tuple[str, ...]] = ()
    text: ClassVar[str]

    @abstractmethod
    def trainings(self, graph: str, variant: str, splits: Sequence[int], quick: bool) -> list[Task]:
        """Return one task per split of a variant on a graph."""

    @abstractmethod
    def claims(self, graphs: Sequence[str]) -> list[Claim]:
        """Return what the paper says of these graphs."""

    def points(self, graph: str, first: str, second: str) -> float | None:
        """Return the paper's difference of two variants; None where it lacks one of them."""
        one, other = (self.paper.get((graph, variant)) for variant in (first, second))
        return None if one is None or other is None else one[0] - other[0]

    def tasks(self, quick: bool) -> list[Task]:
        graphs = QUICK_GRAPHS if quick else self.graphs
        return [
            task
            for graph, splits in graphs.items()
            if graph not in self.optional or is_there(graph)
            for variant in self.titles
            for task in self.trainings(graph, variant, splits, quick)
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        test: dict[tuple[str, str], list[float]] = {}
        val: dict[tuple[str, str], list[float]] = {}
        balanced: dict[tuple[str, str], list[float]] = {}
        for task, record in finished:
            cell = task.graph, task.variant
            test.setdefault(cell, []).append(record["test_accuracy"])
            val.setdefault(cell, []).append(record["val_accuracy"])
            balanced.setdefault(cell, []).append(record["test_balanced_accuracy"])
        rows = [
            self._row(graph, variant, values, val[graph, variant])
            for (graph, variant), values in test.items()
        ]
        graphs = list(dict.fromkeys(graph for graph, _ in test))
        figure = Figure(self.title, tuple(self._panel(graph, test) for graph in graphs))
        claims = self.claims(graphs)
        found = [
            compare(claim.first, claim.second, claim.graph, *_pair(claim, test)) for claim in claims
        ]
        finding = self._finding(test, claims, found)
        constant = tuple(
            f"{self.titles[variant]} on {graph} is no better than one class for every node: its "
            "balanced accuracy is that of a constant answer on every split."
            for (graph, variant), values in balanced.items()
            if all(map(is_constant, values))
        )
        return Summary(rows, figure, replace(finding, text=(*finding.text, *constant)))

    def _row(self, graph: str, variant: str, test: Sequence[float], val: Sequence[float]) -> Row:
        mean, std = self.paper.get((graph, variant), (None, None))
        return {
            "graph": graph,
            "variant": variant,
            "title": self.titles[variant],
            "test_accuracy": statistics.fmean(test),
            "std": statistics.stdev(test) if len(test) > 1 else None,
            "interval": mean_interval(test),
            "val_accuracy": statistics.fmean(val),
            "paper": mean,
            "paper_std": std,
            "values": list(test),
        }

    def _panel(self, graph: str, test: Values) -> Panel:
        variants = [variant for variant in self.titles if (graph, variant) in test]
        values = [test[graph, variant] for variant in variants]
        labels = [self.titles[variant] for variant in variants]
        spreads = [100 * statistics.stdev(entry) if len(entry) > 1 else 0.0 for entry in values]
        marks = [Bars("ours", labels, [100 * statistics.fmean(e) for e in values], spreads)]
        paper = [self.paper.get((graph, variant)) for variant in variants]
        if any(paper):
            means = [None if cell is None else cell[0] for cell in paper]
            marks.append(Bars("paper", labels, means))
        return Panel(graph, "", "test accuracy (%)", tuple(marks))

    def _finding(
        self, test: Values, claims: Sequence[Claim], found: Sequence[Comparison]
    ) -> Finding:
        points = [claim.points for claim in claims]
        if found:
            word, why = judge_all(found, points)
        else:
            word, why = NOT_CONFIRMED, "None of the paper's comparisons could be made here."
        lines = tuple(
            _claim_line(self.titles, claim, entry)
            for claim, entry in zip(claims, found, strict=True)
        )
        table = tuple(
            (graph, self.titles[variant], _percent(values), self._printed(graph, variant))
            for (graph, variant), values in test.items()
        )
        text = (self.text, *lines)
        return Finding(text, word, why, ("graph", "variant", "ours (%)", "paper (%)"), table)

    def _printed(self, graph: str, variant: str) -> str:
        cell = self.paper.get((graph, variant))
        return "–" if cell is None else f"{cell[0]:.1f} ± {cell[1]:.1f}"


def _pair(claim: Claim, test: Values) -> tuple[Sequence[float], Sequence[float]]:
    return test[claim.graph, claim.first], test[claim.graph, claim.second]


def _claim_line(titles: Titles, claim: Claim, entry: Comparison) -> str:
    ends = entry.interval
    ours = f"{100 * entry.difference:+.1f} points"
    if ends is not None:
        ours += f" (95 % interval {100 * ends[0]:+.1f} to {100 * ends[1]:+.1f})"
    paper = "" if claim.points is None else f"; the paper has {claim.points:+.1f}"
    word = judge(entry, claim.points)
    return (
        f"{titles[claim.first]} against {titles[claim.second]} on {claim.graph}: {ours}{paper}: "
        f"{word}."
    )


def _percent(values: Sequence[float]) -> str:
    mean = f"{100 * statistics.fmean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean
