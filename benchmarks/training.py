"""Seconds and memory of training, side by side with GCN in the same run.

python -m benchmarks.training [--graphs cora,chameleon] [--epochs 100] [--json] [--write]
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.training_work import SPLIT, measure_training, training_config
from herofilter import find_model
from herofilter.errors import ConfigError
from herofilter.files import write_json
from herofilter.reproduce.speed.child import run_child
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/training.json")
GRAPHS = ("cora", "chameleon", "pubmed", "squirrel")
MODELS = ("herofilter", "gcn", "chebnetii", "fast-herofilter", "mlp")
BASE = "gcn"
REPEATS = 3
# seconds that one training may take
LIMIT = 1800.0
RATIOS = {"seconds": "ratio", "seconds_per_epoch": "epoch_ratio", "peak_mib": "memory_ratio"}
_COLUMNS = ("model", "seconds", "to gcn", "epochs", "ms per epoch", "to gcn", "peak MiB", "to gcn")

Run = dict[str, Any]


def run_training(
    graphs: Sequence[str] = GRAPHS,
    models: Sequence[str] = MODELS,
    repeats: int = REPEATS,
    epochs: int | None = None,
    limit: float = LIMIT,
    keep: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train models on graphs, each training on one thread in a process of its own.

    In every round each model is trained once, so that noise of the machine affects all alike; a
    ratio is the median of those within one round.

    Args:
        graphs: names of datasets.
        models: names of registered models.
        repeats: rounds.
        epochs: train so many, without early stopping; by default each model stops as it does.
        limit: seconds that one training may take.
        keep: called with the results so far whenever a graph is finished.
    """
    if repeats < 1:
        raise ConfigError(f"repeats must be at least 1 (got {repeats})")
    result: dict[str, Any] = {"runs": {}, "graphs": {}}
    config = training_config(epochs).to_dict()
    for graph in graphs:
        runs: dict[str, list[Run]] = {model: [] for model in models}
        for number in range(repeats):
            for model in models:
                print(f"{graph}, round {number + 1}: {model}", file=sys.stderr, flush=True)
                runs[model].append(_run(graph, model, epochs, limit))
        command = f"python -m benchmarks.training --graphs {graph} --repeats {repeats}"
        result["runs"][graph] = {
            "command": command + ("" if epochs is None else f" --epochs {epochs}"),
            "split": SPLIT,
            "threads": 1,
            "config": config,
            "environment": environment(),
        }
        result["graphs"][graph] = [_row(model, runs[model], runs.get(BASE)) for model in models]
        if keep is not None:
            keep(result)
    return result


def write_result(result: dict[str, Any]) -> None:
    """Write measurements; graphs that were measured earlier stay."""
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    write_json(RESULT, {key: {**known.get(key, {}), **value} for key, value in result.items()})


def training_table(graph: str, rows: Sequence[dict[str, Any]]) -> Table:
    """Return one graph's rows as a table for a terminal."""
    table = Table(title=f"Training on {graph}, split {SPLIT}, one thread, medians")
    for title in _COLUMNS:
        table.add_column(title, justify="left" if title == "model" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def markdown_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return one graph's rows as a table for the docs."""
    lines = [_COLUMNS, ("---", *["---:"] * (len(_COLUMNS) - 1)), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="names of datasets")
    parser.add_argument("--models", default=",".join(MODELS), help="names of registered models")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="rounds of all models")
    parser.add_argument("--epochs", type=int, help="so many, without early stopping")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one training")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--markdown", action="store_true", help="print tables for the docs")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    models = [find_model(name).name for name in options.models.split(",")]
    keep = write_result if options.write else None
    result = run_training(
        options.graphs.split(","), models, options.repeats, options.epochs, options.limit, keep
    )
    if options.json:
        print(json.dumps(result))
        return
    console = Console()
    for graph, rows in result["graphs"].items():
        if options.markdown:
            print(f"{graph}\n\n{markdown_table(rows)}\n")
        else:
            console.print(training_table(graph, rows))


def _run(graph: str, model: str, epochs: int | None, limit: float) -> Run:
    outcome = run_child(measure_training, graph, model, epochs, limit=limit, threads=1)
    return {**(outcome.value or {}), "why": outcome.why}


def _row(model: str, runs: Sequence[Run], base: Sequence[Run] | None) -> dict[str, Any]:
    """Return the medians of a model's rounds, and of its ratios to GCN in the same round."""
    why = next((run["why"] for run in runs if run["why"] is not None), None)
    if why is not None:
        return {"model": model, "why": why}
    row = {"model": model, "why": None, "repeats": len(runs)}
    row |= {key: statistics.median(run[key] for run in runs) for key in runs[0] if key != "why"}
    compared = base is not None and all(run["why"] is None for run in base)
    for key, name in RATIOS.items():
        pairs = zip(runs, base or (), strict=True) if compared else ()
        ratios = [run[key] / other[key] for run, other in pairs]
        row[name] = statistics.median(ratios) if ratios else None
    return row


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if row["why"] is not None:
        return (row["model"], row["why"], *[""] * (len(_COLUMNS) - 2))
    ratios = ["" if row[name] is None else f"{row[name]:.2f}" for name in RATIOS.values()]
    return (
        row["model"],
        f"{row['seconds']:.2f}",
        ratios[0],
        f"{row['epochs']:.0f}",
        f"{1000 * row['seconds_per_epoch']:.1f}",
        ratios[1],
        f"{row['peak_mib']:.0f}",
        ratios[2],
    )


if __name__ == "__main__":
    main()
