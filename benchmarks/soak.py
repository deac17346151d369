"""Fits, predictions and requests for half an hour: memory and open files must stay as they are.

python -m benchmarks.soak [--minutes 30] [--write]
"""

import argparse
import gc
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import psutil
import torch
from fastapi.testclient import TestClient

from benchmarks.faults_work import prepare_inputs
from herofilter.config import Config
from herofilter.data import read_graph
from herofilter.files import write_json
from herofilter.predict import Predictor
from herofilter.predict.tables import predict_tables
from herofilter.serve import Service, create_app
from herofilter.training.artifacts.environment import environment
from herofilter.training.fit_model import fit_model, with_validation

RESULT = Path("results/soak.json")
# of memory, from the end of the first tenth to the end
MOST_GROWTH = 0.05
_WARM = 0.1
_BODY = {"nodes": [{"id": "new", **{f"c{i}": 0.5 for i in range(8)}}], "edges": [["new", 3]]}

_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/predict", _BODY),
    ("/explain", {"id": 3}),
    ("/predict", {"unknown": 1}),
)


def run_soak(minutes: float) -> dict[str, Any]:
    """Work in rounds for some minutes; return the growth of memory and of open files."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    process = psutil.Process()
    started, rounds, requests = time.perf_counter(), 0, 0
    seconds = 60 * minutes
    measured: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        prepare_inputs(folder)
        client = TestClient(create_app(Service(Predictor.load(folder / "model"))))
        while rounds < 20 or time.perf_counter() - started < seconds:
            _fit(folder)
            predicted = predict_tables(Predictor.load(folder / "model"))
            predicted.write(folder / "predictions.csv")
            for path, body in _REQUESTS:
                answer = client.post(path, json=body)
                if answer.status_code not in (200, 422):
                    raise SystemExit(f"{path} must answer (got {answer.text[:300]})")
                requests += 1
            rounds += 1
            gc.collect()
            measured.append((process.memory_info().rss, process.num_fds()))
    warm = measured[int(_WARM * len(measured))]
    # a mean of several rounds, because allocators give back memory by fits and starts
    last = measured[-max(1, len(measured) // 20) :]
    memory = sum(rss for rss, _ in last) / len(last)
    return {
        "command": f"python -m benchmarks.soak --minutes {minutes:g}",
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "rounds": rounds,
        "requests": requests,
        "memory_after_a_tenth": warm[0],
        "memory_at_the_end": int(memory),
        "growth": round(memory / warm[0] - 1, 4),
        "open_files_after_a_tenth": warm[1],
        "open_files_at_the_end": measured[-1][1],
        "environment": environment(),
    }


def _fit(folder: Path) -> None:
    graph = read_graph(folder / "edges.csv", folder / "nodes.csv", "topic")
    data = with_validation(graph.data, 0.2)
    config = Config().replace(epochs=5, patch_size=4, hidden_channels=8)
    fit_model(data, graph.classes, "herofilter", config, encoder=graph.encoder).save(folder / "fit")
    Predictor.load(folder / "fit").predict_proba()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}")
    options = parser.parse_args(arguments)
    result = run_soak(options.minutes)
    if options.write:
        write_json(RESULT, result)
    del result["environment"]
    print(json.dumps(result, indent=1))
    files = result["open_files_at_the_end"] - result["open_files_after_a_tenth"]
    if result["growth"] > MOST_GROWTH or files > 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
