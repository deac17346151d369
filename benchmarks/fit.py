"""What `herofilter fit` reaches within a time: verdict, seconds, memory and accuracy.

python -m benchmarks.fit [--graphs weak,texas] [--budgets 60,120] [--json] [--write]

A graph is written as two CSV tables with 40 % of its labels left blank, and the command is run on
them as a user would run it. The blank labels, of which the command knows nothing, then measure what
the model and the others reach.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from herofilter import load_dataset
from herofilter.data.synthetic.weak_features import weak_features_graph
from herofilter.files import write_json
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.made import read_made
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.sealed_folder import SEARCH
from herofilter.training.predictor import Predictor

RESULT = Path("results/fit.json")
SMALL = ("texas", "cornell", "wisconsin", "chameleon", "cora", "citeseer")
GRAPHS = ("weak", *SMALL, "squirrel", "actor", "pubmed", "large")
HIDDEN = 0.4
_SIMPLE = ("booster", "mlp", "neighbour-booster", "gcn")
_COLUMNS = ("graph", "budget", "seconds", "MiB", "kept", "%", "best simple %", "edges")


def make_graph(name: str) -> Data:
    """Return a graph: ``weak`` columns, ``large`` with 200 000 nodes, or a dataset."""
    if name == "weak":
        return weak_features_graph()
    if name == "large":
        return weak_features_graph(num_nodes=200_000, num_features=20, average_degree=10)
    return load_dataset(name, split=None)


def hidden_nodes(data: Data, seed: int = 0) -> torch.Tensor:
    """Return a mask of the nodes whose labels are left blank."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(int(data.num_nodes or 0), generator=generator) < HIDDEN


def write_tables(data: Data, folder: Path) -> None:
    """Write ``nodes.csv``, in which 40 % of the labels are blank, and ``edges.csv``.

    Bags of words become one column of words, other features a column each.
    """
    pairs = zip(data.y.tolist(), hidden_nodes(data).tolist(), strict=True)
    labels = ["" if hidden else f"class {y}" for y, hidden in pairs]
    words = data.x.layout == torch.sparse_csr
    columns = ["words"] if words else [f"x{i}" for i in range(data.num_features)]
    with (folder / "nodes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *columns, "label"])
        for node, label in enumerate(labels):
            writer.writerow([f"n{node}", *_cells(data.x, node, words), label])
    with (folder / "edges.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows((f"n{one}", f"n{other}") for one, other in data.edge_index.t().tolist())


def measure(name: str, budget: float) -> dict[str, Any]:
    """Fit the tables of a graph by the command, and return what it took and what came out."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = make_graph(name)
        write_tables(data, folder)
        tables = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
        fit = ["fit", *tables, "--label", "label", "--json", "--budget", f"{budget:g}s"]
        done, seconds = timed(fit, folder, 5 * budget + 600)
        about = {"graph": name, "budget": budget, "seconds": seconds}
        if done.returncode:
            return {**about, "failure": (done.stderr.splitlines() or ["no message"])[-1]}
        for key, command in (
            ("predict_seconds", ["predict", "model", *tables]),
            ("explain_seconds", ["explain", "model", "--node", "n0"]),
        ):
            after, about[key] = timed(command, folder, 600)
            after.check_returncode()
        peak = read_made(folder / "model")["peak_memory"] / 2**20
        metrics = json.loads(done.stdout)
        right = blank_hits(data, folder / "model", list(metrics["models"]))
    return {**about, "peak_mib": peak, **summarise(metrics, right)}


def timed(
    arguments: list[str], folder: Path, timeout: float
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run a command of herofilter in a folder, and return how it ended and its seconds."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "herofilter", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        check=False,
    )
    return done, time.perf_counter() - started


def blank_hits(data: Data, folder: Path, names: Sequence[str]) -> dict[str, torch.Tensor]:
    """Return of each contender's best model which of the nodes with a blank label it has right."""
    graph = SavedModel.load(folder).training_graph
    nodes = hidden_nodes(data).nonzero().view(-1)
    truth = [f"class {label}" for label in data.y[nodes].tolist()]
    row_of = {str(name): row for row, name in enumerate(graph.ids.to_pylist())}
    rows = torch.tensor([row_of[f"n{node}"] for node in nodes.tolist()])
    hits = {}
    for name in names:
        saved = SavedModel.load(folder / SEARCH / name)
        chosen = Predictor(replace(saved, graph=graph)).predict_proba(rows).argmax(1)
        pairs = zip(chosen.tolist(), truth, strict=True)
        hits[name] = torch.tensor([str(saved.classes[row]) == label for row, label in pairs])
    return hits


def summarise(metrics: dict[str, Any], right: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Return what a fit kept beside the best of the simple contenders.

    ``holds`` says whether the kept model is at least as good within one standard error, that of
    the paired difference over the nodes with a blank label.
    """
    blank = {name: hits.double().mean().item() for name, hits in right.items()}
    best = max((name for name in _SIMPLE if name in blank), key=blank.__getitem__)
    kept = metrics["kept"]
    difference = right[kept].double() - right[best].double()
    error = difference.std().item() / math.sqrt(difference.numel())
    return {
        "kept": kept,
        "blank_nodes": difference.numel(),
        "blank": blank[kept],
        "best_simple": blank[best],
        "difference": difference.mean().item(),
        "error": error,
        "holds": difference.mean().item() >= -error,
        "models": {
            name: {
                "blank": blank[name],
                "test": entry["test"]["accuracy"],
                "auc": entry["test"]["auc"],
                "validation": entry["validation"]["accuracy"],
                "trials": entry["trials"],
                "finished": entry["finished"],
            }
            for name, entry in metrics["models"].items()
        },
        "unfinished": metrics["unfinished"],
        "edges": next((line for line in metrics["said"] if "edges" in line), ""),
    }


def fit_rows(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the measurements as a table for a terminal."""
    table = Table(title="What fit reaches within its time")
    for title in _COLUMNS:
        table.add_column(title, justify="left" if title in ("graph", "kept", "edges") else "right")
    for row in rows:
        if "failure" in row:
            table.add_row(row["graph"], f"{row['budget']:.0f}", row["failure"])
            continue
        shares = [f"{100 * row[key]:.1f}" for key in ("blank", "best_simple")]
        times = [f"{row[key]:.0f}" for key in ("budget", "seconds", "peak_mib")]
        table.add_row(row["graph"], *times, row["kept"], *shares, row["edges"].partition(":")[0])
    return table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="weak, large or datasets")
    parser.add_argument("--budgets", default="120", help="seconds, such as 30,60")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.graphs.split(","):
        for budget in map(float, options.budgets.split(",")):
            print(f"{name}, {budget:g} s", file=sys.stderr, flush=True)
            rows.append(measure(name, budget))
            if options.write:
                write_result(rows[-1])
    if options.json:
        print(json.dumps(rows))
        return
    Console().print(fit_rows(rows))


def write_result(row: dict[str, Any]) -> None:
    """Write one measurement; those of other graphs and budgets stay."""
    known = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    entry = {**row, "environment": environment()}
    write_json(RESULT, {**known, f"{row['graph']} {row['budget']:g}": entry})


def _cells(x: torch.Tensor, node: int, words: bool) -> list[str]:
    if not words:
        return [f"{value:.6g}" for value in x[node].tolist()]
    start, stop = x.crow_indices()[node : node + 2].tolist()
    return ["|".join(f"w{word}" for word in np.asarray(x.col_indices()[start:stop]).tolist())]


if __name__ == "__main__":
    main()
