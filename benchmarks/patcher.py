"""The fast patcher against four libraries: time per source at equal recall, on one thread.

python -m benchmarks.patcher [--sources 200] [--seed 0] [--json] [--write]
"""

import argparse
import json
import statistics
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.patcher_work import (
    Task,
    measure_all_nodes,
    measure_ours,
    measure_peer,
    without_loops,
)
from benchmarks.peers import PACKAGES, PEERS, missing_peers
from herofilter.files import write_json
from herofilter.reproduce.speed.child import Outcome, run_child
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/patcher.json")
THREADS = 2
# a peer may take so many seconds at one tolerance, and ten times as many in all
BUDGET = 20.0
FEW_SOURCES = 50
_LIBRARIES = ("networkit", "igraph", "scikit-network")


def run_patcher(
    graph: str = "arxiv-structure",
    num_sources: int = 200,
    patch_size: int = 32,
    c: float = 0.5,
    seed: int = 0,
    budget: float = BUDGET,
) -> dict[str, Any]:
    """Measure the patcher and its peers on one graph.

    A peer that isn't installed, fails, or never reaches our recall has the speed-up None; ``peers``
    and ``missing`` say why.
    """
    with tempfile.TemporaryDirectory() as folder:
        task = Task(graph, patch_size, c, num_sources, seed, True, Path(folder))
        bare = without_loops(task, FEW_SOURCES)
        ours = {
            each.loops: _value_of(run_child(measure_ours, each, threads=1)) for each in (task, bare)
        }
        absent = missing_peers()
        rows = []
        for kind in PEERS:
            if kind.package in absent:
                continue
            reference = ours[kind.loops]
            arguments = (task if kind.loops else bare, kind.name, reference["recalls"], budget)
            outcome = run_child(measure_peer, *arguments, limit=10 * budget, threads=1)
            rows.append(_row(kind.name, kind.package, outcome, reference["seconds_per_source"]))
        all_nodes = _value_of(run_child(measure_all_nodes, task, THREADS, threads=THREADS))
    return {
        "command": _command(graph, num_sources, patch_size, seed),
        "graph": graph,
        "nodes": ours[True]["nodes"],
        "entries": ours[True]["entries"],
        "patch_size": patch_size,
        "c": c,
        "seed": seed,
        "sources": len(ours[True]["recalls"]),
        "recall": statistics.mean(ours[True]["recalls"]),
        "ns_per_edge": ours[True]["ns_per_edge"],
        "edges_per_source": ours[True]["edges_per_source"],
        **{f"speedup_{package}": _speedup(package, rows) for package in PACKAGES},
        **all_nodes,
        "threads_all_nodes": THREADS,
        "ours": [_summary(loops, entry) for loops, entry in ours.items()],
        "peers": rows,
        "missing": absent,
        "environment": environment(),
        "versions": {name: _version(name) for name in _LIBRARIES},
    }


def patcher_table(result: dict[str, Any]) -> Table:
    """Return the result as a table for a terminal."""
    table = Table(
        title=f"Time per source on {result['graph']}, one thread, p = {result['patch_size']}",
        caption=(
            f"all {result['nodes']} nodes on {result['threads_all_nodes']} threads: "
            f"{result['seconds_all_nodes']:.1f} s, {result['nodes_per_second']:.0f} nodes/s, "
            f"peak {result['peak_memory_gib']:.2f} GiB, {100 * result['filled']:.2f} % of rows "
            f"that can be full are, {100 * (result['certified'] or 0):.1f} % certified; "
            f"{result['ns_per_edge']:.1f} ns per edge"
        ),
    )
    titles = ("", "tolerance", "recall", "ms per source", "ms of ranking", "sources", "slower by")
    for title in titles:
        table.add_column(title, justify="left" if not title else "right")
    for row in result["ours"]:
        name = f"herofilter, {'' if row['loops'] else 'no '}self-loops"
        cells = (f"{row['tolerance']:.1e}", f"{row['recall']:.4f}")
        milliseconds = f"{1e3 * row['seconds_per_source']:.3f}"
        table.add_row(name, *cells, milliseconds, "with it", str(row["sources"]), "1")
    for row in result["peers"]:
        table.add_row(row["name"], *_cells(row))
    for package in result["missing"]:
        table.add_row(package, *[""] * 5, "not installed")
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.patcher")
    parser.add_argument("--graph", default="arxiv-structure", help="a dataset")
    parser.add_argument("--sources", type=int, default=200, help="random nodes to compare on")
    parser.add_argument("--patch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of sources")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds for each tolerance")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    result = run_patcher(
        options.graph,
        options.sources,
        options.patch_size,
        seed=options.seed,
        budget=options.budget,
    )
    if options.write:
        write_json(RESULT, result)
    if options.json:
        print(json.dumps(result))
        return
    console = Console()
    console.print(patcher_table(result))
    for cure in result["missing"].values():
        console.print(cure, highlight=False, markup=False, soft_wrap=True)


def _row(name: str, package: str, outcome: Outcome, ours: float) -> dict[str, Any]:
    if outcome.why is not None:
        return {"name": name, "package": package, "why": outcome.why, "speedup": None}
    row: dict[str, Any] = outcome.value
    # the time of a few sources on a tiny graph may be too short to be measured
    speedup = row["seconds_per_source"] / ours if row["reached"] and ours > 0 else None
    why = None if row["reached"] else "never as good"
    return {**row, "speedup": speedup, "why": why}


def _speedup(package: str, rows: list[dict[str, Any]]) -> float | None:
    """Return our speed-up over the fastest form of a package."""
    reached = [row["speedup"] for row in rows if row["package"] == package]
    return min((entry for entry in reached if entry is not None), default=None)


def _cells(row: dict[str, Any]) -> list[str]:
    if "recall" not in row:
        return [*[""] * 5, row["why"]]
    return [
        f"{row['tolerance']:.1e}" if row["tolerance"] else "none",
        f"{row['recall']:.4f}",
        f"{1e3 * row['seconds_per_source']:.3f}",
        f"{1e3 * row['ranking_seconds_per_source']:.3f}",
        str(row["sources"]),
        row["why"] or ("" if row["speedup"] is None else f"{row['speedup']:.1f}"),
    ]


def _summary(loops: bool, entry: dict[str, Any]) -> dict[str, Any]:
    recalls = entry["recalls"]
    kept = ("name", "tolerance", "seconds_per_source", "setup_seconds", "entries")
    return {
        **{key: entry[key] for key in kept},
        "loops": loops,
        "recall": statistics.mean(recalls),
        "sources": len(recalls),
    }


def _value_of(outcome: Outcome) -> dict[str, Any]:
    if outcome.why is not None:
        sys.exit(f"the patcher couldn't be measured: {outcome.why}")
    value: dict[str, Any] = outcome.value
    return value


def _command(graph: str, num_sources: int, patch_size: int, seed: int) -> str:
    return (
        f"python -m benchmarks.patcher --graph {graph} --sources {num_sources} "
        f"--patch-size {patch_size} --seed {seed}"
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
