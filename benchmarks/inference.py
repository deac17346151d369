"""Seconds of inference over all nodes: HeroFilter, Fast-HeroFilter and every baseline.

python -m benchmarks.inference [--graphs squirrel,chameleon,arxiv,patents] [--json] [--write]
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.inference_picture import inference_picture
from herofilter import find_model, list_models
from herofilter.files import write_json
from herofilter.memory import free_memory
from herofilter.parallel.threads import is_small
from herofilter.reproduce.speed.child import run_child
from herofilter.reproduce.speed.inference_work import (
    measure_inference,
    measure_interleaved,
    ratio,
    settings_of,
)
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/inference.json")
GRAPHS = ("squirrel", "chameleon", "arxiv", "patents")
FAST = "fast-herofilter"
REPETITIONS = 5
# seconds that one model may take on one graph, loading it included
LIMIT = 600.0
# of the free memory, what one model may have
MEMORY_SHARE = 0.85
# rounds in which all models of a small graph, whose passes take milliseconds, are interleaved
ROUNDS = 20


def run_inference(
    graphs: Sequence[str],
    models: Sequence[str],
    repetitions: int = REPETITIONS,
    limit: float = LIMIT,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Measure models on graphs, one after the other, each in a separate process.

    On a small graph they are then interleaved in one process, and those times are kept: passes of
    milliseconds can't be compared when they were measured minutes apart.

    Args:
        graphs: names that :func:`load_graph` knows.
        models: names of registered models.
        repetitions: passes over all nodes.
        limit: seconds that one model may take on one graph.
        keep: called with the results so far whenever a model is finished.
    """
    result: dict[str, Any] = {
        "weights": "untrained",
        "settings": {name: settings_of(name).to_dict() for name in (FAST, "herofilter")},
        "runs": {},
        "graphs": {},
    }
    for graph in graphs:
        result["runs"][graph] = {
            "command": f"python -m benchmarks.inference --graphs {graph} --limit {limit:g}",
            "models": list(models),
            "repetitions": repetitions,
            "limit_seconds": limit,
            "environment": environment(),
        }
        rows: list[dict[str, Any]] = []
        for model in models:
            print(f"{graph}: {model}", file=sys.stderr, flush=True)
            rows.append(_row(graph, model, repetitions, limit))
            result["graphs"][graph] = _with_ratios(rows)
            if keep is not None:
                keep(result)
        if _interleave(graph, rows, limit):
            result["runs"][graph]["turns"] = ROUNDS
            result["graphs"][graph] = _with_ratios(rows)
            if keep is not None:
                keep(result)
    return result


def write_result(result: dict[str, Any], add: bool = False) -> None:
    """Write measurements and a picture; graphs that were measured earlier stay in both.

    With ``add`` the other models of a graph stay as well. Each ratio is within one run.
    """
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    if add:
        result = _added(result, known)
    both = {name: {**known.get(name, {}), **result[name]} for name in ("runs", "graphs")}
    write_json(RESULT, {**result, **both})
    inference_picture(both["graphs"], RESULT.with_suffix(".png"))


def _added(result: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    graphs, runs = {}, {}
    for graph, rows in result["graphs"].items():
        new = {row["model"] for row in rows}
        older = [row for row in known.get("graphs", {}).get(graph, []) if row["model"] not in new]
        graphs[graph] = older + rows
        run, name, suffix = result["runs"][graph], f"{graph}, added", 1
        # a run with the same models replaces the earlier one
        while known.get("runs", {}).get(name, run)["models"] != run["models"]:
            suffix += 1
            name = f"{graph}, added {suffix}"
        runs[name] = run
    return {**result, "graphs": graphs, "runs": runs}


def inference_table(graph: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return one graph's rows as a table for a terminal, fastest first."""
    table = Table(
        title=f"Inference for all nodes of {graph}, untrained weights, 64 hidden channels, 2 layers"
    )
    for title in ("model", "seconds", "to fast-herofilter", "once before", "peak GiB", "why not"):
        table.add_column(title, justify="left" if title in ("model", "why not") else "right")
    for row in sorted(rows, key=lambda row: (row["why"] is not None, row["seconds"] or 0.0)):
        if row["why"] is not None:
            table.add_row(row["model"], *[""] * 4, row["why"])
            continue
        share = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        values = (f"{row['seconds']:.4g}", share, f"{row['precompute_seconds']:.3g}")
        table.add_row(row["model"], *values, f"{row['peak_gib']:.2f}", "")
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="these, or other datasets")
    parser.add_argument("--models", help="names such as gcn,linkx; by default all")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT} and a picture, too")
    parser.add_argument("--add", action="store_true", help="keep the file's other models, too")
    options = parser.parse_args(arguments)
    names = [entry.name for entry in list_models() if entry.gradients]
    if options.models is not None:
        names = [find_model(name).name for name in options.models.split(",")]
    graphs = options.graphs.split(",")
    keep = partial(write_result, add=options.add) if options.write else None
    result = run_inference(graphs, names, options.repetitions, options.limit, keep)
    if options.json:
        print(json.dumps(result))
        return
    console = Console()
    for graph, rows in result["graphs"].items():
        console.print(inference_table(graph, rows))


def _with_ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    fast = next((row["seconds"] for row in rows if row["model"] == FAST), None)
    return [{**row, "ratio": ratio(row["seconds"], fast)} for row in rows]


def _interleave(graph: str, rows: Sequence[dict[str, Any]], limit: float) -> bool:
    """Replace the times of rows by interleaved ones; return whether that was done."""
    measured = [row for row in rows if row["why"] is None]
    if len(measured) < 2 or not is_small(measured[0]["nodes"]):
        return False
    print(f"{graph}: interleaved", file=sys.stderr, flush=True)
    names = [row["model"] for row in measured]
    outcome = run_child(
        measure_interleaved,
        graph,
        names,
        ROUNDS,
        limit=limit * len(names),
        memory=int(MEMORY_SHARE * free_memory()),
    )
    if outcome.why is not None:
        print(f"{graph}: not interleaved: {outcome.why}", file=sys.stderr, flush=True)
        return False
    for row in measured:
        row.update(outcome.value[row["model"]])
    return True


def _row(graph: str, model: str, repetitions: int, limit: float) -> dict[str, Any]:
    # repetitions end before the limit, so that they are counted
    outcome = run_child(
        measure_inference,
        graph,
        model,
        repetitions,
        limit / 4,
        limit=limit,
        memory=int(MEMORY_SHARE * free_memory()),
    )
    if outcome.why is not None:
        return {"model": model, "seconds": None, "why": outcome.why}
    return {"model": model, **outcome.value, "why": None}


if __name__ == "__main__":
    main()
