"""How time and memory grow with the graph: patcher, one epoch and inference on power-law graphs.

python -m benchmarks.scale [--sizes 1000,10000] [--patch-sizes 8,16,32,64] [--patents] [--json]
"""

import argparse
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.scale_picture import scale_picture
from herofilter.files import write_json
from herofilter.reproduce.speed.child import run_child
from herofilter.reproduce.speed.scale_work import (
    PATENTS_NODES,
    STAGES,
    Graph,
    make_graph,
    measure,
)
from herofilter.training.artifacts.environment import environment

LINES = Path("results/scale.jsonl")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, PATENTS_NODES)
PATCH_SIZES = (8, 16, 32, 64)
PATCH_SIZE, WIDE_PATCH = 16, 32
# the size at which patch sizes are compared
PATCHES_AT = 100_000
FIT_FROM = 10_000

Key = tuple[int, int, int, str, int]
Line = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """What to measure on one graph with one patch size."""

    graph: Graph
    patch_size: int
    stages: tuple[str, ...] = STAGES

    def heads(self) -> list[Line]:
        """Return the beginning of the line of each stage."""
        return [
            {**asdict(self.graph), "stage": stage, "patch_size": self.patch_size}
            for stage in self.stages
        ]


def plan(
    sizes: Sequence[int], patch_sizes: Sequence[int], patents: bool, seed: int = 0
) -> list[Task]:
    """Return the graphs and patch sizes to measure, small graphs first.

    Patch sizes are compared on one graph, the largest of at most 100 000 nodes; the others have
    p = 16. At the size of snap-patents there are patches with p = 32, too.
    """
    ordered = [PATENTS_NODES] if patents else sorted(set(sizes))
    compared = max((size for size in ordered if size <= PATCHES_AT), default=None)
    tasks = []
    for size in ordered:
        widths = {PATCH_SIZE, *patch_sizes} if size == compared else {PATCH_SIZE}
        tasks += [Task(Graph.of_size(size, seed), width) for width in sorted(widths)]
        if size == PATENTS_NODES:
            tasks.append(Task(Graph.of_size(size, seed), WIDE_PATCH, ("patcher",)))
    return tasks


def run_scale(tasks: Sequence[Task], path: Path) -> tuple[list[Line], list[Line]]:
    """Measure what ``path`` doesn't hold yet; return its lines about ``tasks``, and failures.

    Every finished measurement is added to ``path`` at once, so that a run can be continued.
    """
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for graph in dict.fromkeys(task.graph for task in tasks):
            of_graph = [task for task in tasks if task.graph == graph]
            failures += _run_graph(of_graph, path, folder)
            for file in folder.iterdir():
                file.unlink()
    wanted = {_key(head) for task in tasks for head in task.heads()}
    return [line for line in read_lines(path) if _key(line) in wanted], failures


def _run_graph(tasks: Sequence[Task], path: Path, folder: Path) -> list[Line]:
    failures = []
    for task in tasks:
        graph, width, heads = task.graph, task.patch_size, task.heads()
        done = {_key(line) for line in read_lines(path)}
        missing = [head for head in heads if _key(head) not in done]
        if not missing:
            continue
        if not graph.data_path(folder).is_file():
            made = run_child(make_graph, graph, folder)
            if made.why is not None:
                return [{**missing[0], "why": made.why}]
        for head in heads:
            # a stage that is finished runs again if a later one needs its patches
            needed = head["stage"] == "patcher" and head is not missing[-1]
            if head not in missing and not needed:
                continue
            print(f"{graph.nodes} nodes, p = {width}: {head['stage']}", file=sys.stderr, flush=True)
            outcome = run_child(measure, graph, head["stage"], width, folder)
            if outcome.why is not None:
                failures.append({**head, "why": outcome.why})
                break
            if head in missing:
                _append(path, outcome.value)
        graph.patches_path(folder, width).unlink(missing_ok=True)
    return failures


def read_lines(path: Path) -> list[Line]:
    """Return the finished measurements; a line that was cut off is none."""
    if not path.is_file():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def slope(lines: Iterable[Line], key: str = "seconds") -> float | None:
    """Return the slope of a least-squares line through logarithms, from 10 000 nodes up.

    1 means that twice the nodes take twice the time; there is none for fewer than two sizes.
    """
    points = [
        (math.log(line["nodes"]), math.log(line[key]))
        for line in lines
        if line["nodes"] >= FIT_FROM and line["patch_size"] == PATCH_SIZE
    ]
    if len({x for x, _ in points}) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    shared = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return float(shared / spread)


def summarise(lines: list[Line]) -> dict[str, Any]:
    """Return measurements by stage and the slopes of their fits."""
    by_size, by_patch = {}, {}
    widths_at = Counter(
        nodes for nodes, _ in {(line["nodes"], line["patch_size"]) for line in lines}
    )
    compared = [nodes for nodes, count in widths_at.most_common(1) if count > 1]
    for stage in STAGES:
        of_stage = [line for line in lines if line["stage"] == stage]
        widths = [line for line in of_stage if line["patch_size"] == PATCH_SIZE]
        by_size[stage] = sorted(widths, key=lambda line: int(line["nodes"]))
        at = [line for line in of_stage if line["nodes"] in compared]
        by_patch[stage] = sorted(at, key=lambda line: int(line["patch_size"]))
    return {
        "by_size": by_size,
        "by_patch": by_patch,
        "slopes": {stage: slope(rows) for stage, rows in by_size.items()},
        "fit_from_nodes": FIT_FROM,
    }


def scale_table(result: dict[str, Any]) -> Table:
    """Return the measurements as a table for a terminal."""
    slopes = ", ".join(
        f"{stage} {value:.2f}" for stage, value in result["slopes"].items() if value is not None
    )
    caption = f"slopes from {FIT_FROM} nodes up: {slopes}" if slopes else None
    table = Table(title="Seconds and peak memory of each stage", caption=caption)
    for title in ("nodes", "edges", "p", "stage", "seconds", "peak GiB"):
        table.add_column(title, justify="left" if title == "stage" else "right")
    for line in result["lines"]:
        sizes = (f"{line['nodes']:,}", f"{line['edges']:,}", str(line["patch_size"]))
        values = (f"{line['seconds']:.4g}", f"{line['peak_gib']:.2f}")
        table.add_row(*sizes, line["stage"], *values)
    for line in result["failures"]:
        sizes = (f"{line['nodes']:,}", f"{line['edges']:,}", str(line["patch_size"]))
        table.add_row(*sizes, line["stage"], line["why"], "")
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of nodes")
    parser.add_argument("--patch-sizes", default=",".join(map(str, PATCH_SIZES)))
    parser.add_argument("--patents", action="store_true", help="the size of snap-patents alone")
    parser.add_argument("--lines", type=Path, default=LINES, help="finished measurements")
    parser.add_argument("--fresh", action="store_true", help="forget finished measurements")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--write", action="store_true", help="write scale.json and scale.png beside the lines"
    )
    options = parser.parse_args(arguments)
    if options.fresh:
        options.lines.unlink(missing_ok=True)
    sizes, widths = (_integers(text) for text in (options.sizes, options.patch_sizes))
    lines, failures = run_scale(plan(sizes, widths, options.patents), options.lines)
    result = {
        "command": "python -m benchmarks.scale",
        **summarise(lines),
        "lines": lines,
        "failures": failures,
        "environment": environment(),
    }
    if options.write:
        # all finished measurements, also those of earlier calls
        known = read_lines(options.lines)
        summary = summarise(known)
        kept = {**result, **summary, "lines": known}
        write_json(options.lines.with_suffix(".json"), kept)
        picture = options.lines.with_suffix(".png")
        scale_picture(summary["by_size"], summary["by_patch"], summary["slopes"], picture)
    if options.json:
        print(json.dumps(result))
        return
    Console().print(scale_table(result))


def _append(path: Path, line: Line) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # a line that was cut off gets its newline first
    cut_off = path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if cut_off else "") + json.dumps(line) + "\n")


def _key(line: Line) -> Key:
    return (line["nodes"], line["edges"], line["seed"], line["stage"], line["patch_size"])


def _integers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
