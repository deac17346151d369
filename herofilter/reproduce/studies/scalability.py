"""How the time of an epoch grows with nodes and with the patch size."""

import itertools
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.report.figure import Figure, Lines, Panel
from herofilter.reproduce.speed.child import run_child
from herofilter.reproduce.speed.scale_work import STAGES, Graph, make_graph, measure
from herofilter.reproduce.studies.graphs import power_law
from herofilter.reproduce.studies.study import Finished, Record, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

SIZES = (100_000, 10_000, 1_000, 100)
PATCH_SIZES = (8, 16, 32, 64)
# below this, constant costs hide how time grows
FIT_FROM = 1_000
# larger graphs are measured in processes of their own, whose peak memory is theirs alone
_HERE_UP_TO = 1_000
TITLES = {"patcher": "patcher", "epoch": "one epoch", "inference": "inference"}


def measure_stages(task: Task) -> Record:
    """Return seconds and memory of the patcher, an epoch and inference on the task's graph."""
    nodes, edges = map(int, task.graph.split(":")[1:])
    graph, size = Graph(nodes, edges), task.config.patcher.patch_size
    record = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _run(make_graph, graph, folder)
        for stage in STAGES:
            line = _run(measure, graph, stage, size, folder)
            record[stage] = {key: line[key] for key in ("seconds", "repetitions", "peak_gib")}
    return record


def _run(work: Callable[..., Any], graph: Graph, *arguments: Any) -> Any:
    if graph.nodes <= _HERE_UP_TO:
        return work(graph, *arguments)
    outcome = run_child(work, graph, *arguments)
    if outcome.why is not None:
        raise RunError(f"every stage must be measured, but one {outcome.why}")
    return outcome.value


class Scalability(Study):
    """Does time grow less than linearly?"""

    name = "scalability"
    title = "Time against nodes and patch size"
    reproduces = "the figure of Fast-HeroFilter's scalability (appendix)"
    claim = "from 10 to 100,000 nodes the time of an iteration grows less than linearly."
    alone = True

    def tasks(self, quick: bool) -> list[Task]:
        sizes, widths = ((300, 100), (8, 16)) if quick else (SIZES, PATCH_SIZES)
        graphs = [Graph.of_size(size) for size in sizes]
        return [
            Task(
                power_law(graph.nodes, graph.edges),
                "fast-herofilter",
                Config().replace(patch_size=width),
                0,
                measure_stages,
                "scale",
                f"p = {width}",
            )
            for graph, width in itertools.product(graphs, widths)
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        rows: list[Row] = [
            {
                "nodes": int(task.graph.split(":")[1]),
                "patch_size": task.config.patcher.patch_size,
                "stage": stage,
                **record[stage],
            }
            for task, record in finished
            for stage in STAGES
        ]
        rows.sort(key=lambda row: (row["stage"], row["patch_size"], row["nodes"]))
        panels = tuple(_panel(stage, rows) for stage in STAGES)
        return Summary(rows, Figure(self.title, panels), _finding(rows))


def slope(points: Sequence[tuple[float, float]]) -> dict[str, float] | None:
    """Return the slope of logarithms and the ends of its 95 % t-interval.

    None for fewer than three points, which leave no error to judge it by.

    Example:
        >>> found = slope([(10, 1.0), (100, 10.0), (1000, 100.0), (10000, 1000.0)])
        >>> round(found["slope"], 3), round(found["high"] - found["low"], 3)
        (1.0, 0.0)
    """
    from scipy.stats import linregress, t

    x, y = (np.log([point[side] for point in points]) for side in (0, 1))
    if len(points) < 3 or np.ptp(x) == 0:
        return None
    fit = linregress(x, y)
    half = float(t.ppf(0.975, len(points) - 2)) * float(fit.stderr)
    steepness = float(fit.slope)
    return {"slope": steepness, "low": steepness - half, "high": steepness + half}


def judge_slope(found: Mapping[str, float] | None) -> tuple[str, str]:
    """Return the word for the claim that time grows less than linearly, and why."""
    if found is None:
        return NOT_CONFIRMED, "There are too few sizes for a slope with an interval."
    said = (
        f"the slope of an epoch's seconds in a log-log plot is {found['slope']:.2f} (95 % interval "
        f"{found['low']:.2f} to {found['high']:.2f})"
    )
    if found["high"] < 1:
        return CONFIRMED, f"Time grows less than linearly: {said}."
    if found["low"] > 1:
        return NOT_CONFIRMED, f"Time grows more than linearly: {said}."
    return WEAKER, f"Time can't be told from linear growth: {said}."


def _panel(stage: str, rows: Sequence[Row]) -> Panel:
    of_stage = [row for row in rows if row["stage"] == stage]
    marks = []
    for width in sorted({row["patch_size"] for row in of_stage}):
        found = [row for row in of_stage if row["patch_size"] == width]
        seconds = [row["seconds"] for row in found]
        marks.append(Lines(f"p = {width}", [row["nodes"] for row in found], seconds))
    return Panel(TITLES[stage], "nodes", "seconds", tuple(marks), log_x=True, log_y=True)


def _finding(rows: Sequence[Row]) -> Finding:
    slopes = {
        stage: slope(_centred([row for row in rows if row["stage"] == stage])) for stage in STAGES
    }
    word, why = judge_slope(slopes["epoch"])
    table = tuple(
        (TITLES[stage], *(f"{found[key]:.2f}" for key in ("slope", "low", "high")))
        for stage, found in slopes.items()
        if found is not None
    )
    text = (
        "Fast-HeroFilter on power-law graphs with the average degree of snap-patents, 64 hidden "
        f"channels. Slopes are fitted from {FIT_FROM:,} nodes up, over all patch sizes, each "
        "centred by its mean.",
    )
    return Finding(text, word, why, ("stage", "slope", "95 % from", "to"), table)


def _centred(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return nodes and seconds, those of each patch size divided by their geometric mean."""
    points = []
    for width in sorted({row["patch_size"] for row in rows}):
        found = [row for row in rows if row["patch_size"] == width and row["nodes"] >= FIT_FROM]
        if found:
            mean = sum(math.log(row["seconds"]) for row in found) / len(found)
            points += [(row["nodes"], row["seconds"] / math.exp(mean)) for row in found]
    return points
