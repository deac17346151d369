"""Accuracy over patch size and filter order, the whole grid."""

import itertools
import statistics
from collections.abc import Sequence

from herofilter.config import Config
from herofilter.report.figure import Figure, HeatMap, Panel
from herofilter.reproduce.comparison import WINS, Comparison, compare
from herofilter.reproduce.studies.study import Finished, Study, Summary, Task
from herofilter.reproduce.studies.training_task import QUICK, training_tasks
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

PATCH_SIZES: tuple[int, ...] = (8, 16, 32, 64)
ORDERS: tuple[int, ...] = (10, 50, 100, 200)
GRAPHS = {"cora": range(3), "texas": range(10)}
Point = tuple[int, int]


class Sensitivity(Study):
    """How much do patch size and filter order matter?"""

    name = "sensitivity"
    title = "Patch size and filter order"
    reproduces = "the figure of parameter sensitivity (appendix)"
    claim = (
        "on Cora and Texas larger patches and more filters generally give higher accuracy, with a "
        "plateau."
    )

    def tasks(self, quick: bool) -> list[Task]:
        base = Config().replace(patcher="spectral", directed="symmetrise")
        sizes, orders = PATCH_SIZES, ORDERS
        graphs: dict[str, Sequence[int]] = dict(GRAPHS)
        if quick:
            base, sizes, orders = base.replace(**QUICK), (4, 8), (4, 10)
            graphs = {"karate": range(2)}
        return [
            task
            for graph, splits in graphs.items()
            for order, size in itertools.product(reversed(orders), reversed(sizes))
            for task in training_tasks(
                graph,
                splits,
                f"p = {size}, K = {order}",
                base.replace(patch_size=size, filter_order=order),
            )
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        cells: dict[str, dict[Point, list[float]]] = {}
        for task, record in finished:
            settings = task.config.patcher
            point = (settings.patch_size, settings.filter_order)
            of_graph = cells.setdefault(task.graph, {})
            of_graph.setdefault(point, []).append(record["test_accuracy"])
        rows = [
            {
                "graph": graph,
                "patch_size": size,
                "filter_order": order,
                "test_accuracy": statistics.fmean(values),
                "values": values,
            }
            for graph, points in cells.items()
            for (size, order), values in sorted(points.items())
        ]
        panels = tuple(_panel(graph, points) for graph, points in cells.items())
        found = [entry for graph, points in cells.items() for entry in rises(graph, points)]
        return Summary(rows, Figure(self.title, panels), _finding(cells, found))


def rises(graph: str, points: dict[Point, list[float]]) -> list[Comparison]:
    """Return the largest patch against the smallest, then the same of the order.

    Each is averaged over the other axis, split by split.
    """
    found = []
    for axis, name in enumerate(("p", "K")):
        least, most = (end(point[axis] for point in points) for end in (min, max))
        ends = [
            [
                statistics.fmean(values)
                for values in zip(
                    *(entry for point, entry in points.items() if point[axis] == end), strict=True
                )
            ]
            for end in (most, least)
        ]
        found.append(compare(f"{name} = {most}", f"{name} = {least}", graph, *ends))
    return found


def judge_rises(found: Sequence[Comparison]) -> tuple[str, str]:
    """Return the word for the claim that accuracy rises with patch size and order, and why."""
    wins = [entry for entry in found if entry.verdict == WINS]
    word = CONFIRMED if len(wins) == len(found) else WEAKER if wins else NOT_CONFIRMED
    return word, (
        f"From the smallest to the largest value accuracy rises beyond the 95 % interval in "
        f"{len(wins)} of {len(found)} cases (patch size and order on each graph)."
    )


def _panel(graph: str, points: dict[Point, list[float]]) -> Panel:
    sizes = sorted({size for size, _ in points})
    orders = sorted({order for _, order in points})
    z = [[100 * statistics.fmean(points[size, order]) for size in sizes] for order in orders]
    mark = HeatMap([str(size) for size in sizes], [str(order) for order in orders], z, "%")
    return Panel(graph, "patch size p", "filter order K", (mark,))


def _finding(cells: dict[str, dict[Point, list[float]]], found: Sequence[Comparison]) -> Finding:
    word, why = judge_rises(found)
    lines = []
    for graph, points in cells.items():
        means = [100 * statistics.fmean(values) for values in points.values()]
        lines.append(
            f"{graph}: test accuracy from {min(means):.1f} to {max(means):.1f} % over the grid."
        )
    table = tuple(
        (
            entry.graph,
            f"{entry.first} against {entry.second}",
            f"{100 * entry.difference:+.1f}",
            "–" if entry.interval is None else _ends(entry.interval),
        )
        for entry in found
    )
    text = (
        "The paper's filter on all eigenvectors, otherwise the recommended model. The “filter "
        "number” is read as K, the number of powers. No combination is left out.",
        *lines,
    )
    return Finding(text, word, why, ("graph", "compared", "points", "95 % interval"), table)


def _ends(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"
