"""What the engine ray costs: patches of one graph by this process, and by one and two Ray workers.

python -m benchmarks.ray [--graph arxiv-structure] [--repetitions 3] [--json] [--write]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from herofilter.data import csbm, load_dataset
from herofilter.distributed.engine import Engine
from herofilter.distributed.patches import shards_by
from herofilter.distributed.ray_engine import STORE_BYTES, connected, ray_jobs
from herofilter.files import write_json
from herofilter.parallel.processes import run_jobs
from herofilter.patchers import FastPatcher, PatchStore, write_patches
from herofilter.patchers.store import checksum
from herofilter.patchers.store_writer import SHARD_ROWS
from herofilter.reproduce.speed.timing import seconds_of
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/ray.json")
GRAPH = "arxiv-structure"
WORKERS = (1, 2)
MOST_OVERHEAD, LEAST_EFFICIENCY = 0.15, 0.8


def run(
    data: Data,
    patcher: FastPatcher,
    repetitions: int = 3,
    shard_rows: int = SHARD_ROWS,
    with_disk: bool = True,
) -> dict[str, Any]:
    """Measure each way, one after the other and again, and return the medians.

    The start of a cluster, and of its workers with all they import, is measured apart.

    Args:
        data: the graph.
        patcher: the settings.
        repetitions: of each way.
        shard_rows: nodes per task.
        with_disk: whether to measure edges that are read row by row, too.
    """
    torch.set_num_threads(1)
    made: dict[str, list[float]] = {}
    sums: set[int] = set()

    def measure(name: str, engine: Engine | None, on_disk: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder:
            make = None if engine is None else shards_by(engine, on_disk)
            work = partial(write_patches, patcher, data, folder, None, shard_rows, make)
            made.setdefault(name, []).append(seconds_of(work))
            store = PatchStore.open(folder)
            sums.add(checksum(store.map("r"), slice(0, int(data.num_nodes or 0))))

    for name in ("warm-up", *["local"] * repetitions):
        measure(name, None)
    if with_disk:
        for _ in range(repetitions):
            measure("mapped", partial(run_jobs, workers=1))
            measure("edges on disk", partial(run_jobs, workers=1), on_disk=True)
    entries = _prepare(data, patcher)
    starts = {}
    for workers in WORKERS:
        started = time.perf_counter()
        _start(workers)
        with connected():
            _warm_up(4 * workers)
            starts[str(workers)] = time.perf_counter() - started
            for _ in range(repetitions):
                measure(f"ray {workers}", ray_jobs)
        _stop()
    seconds = {name: statistics.median(times) for name, times in made.items()}
    return {
        "nodes": int(data.num_nodes or 0),
        "shard_rows": shard_rows,
        "seconds": seconds,
        "start_seconds": starts,
        "overhead": seconds["ray 1"] / seconds["local"] - 1,
        "efficiency": seconds["ray 1"] / (2 * seconds["ray 2"]),
        "on_disk_factor": seconds["edges on disk"] / seconds["mapped"] if with_disk else None,
        "prepare_ns_per_entry": entries,
        "same": len(sums) == 1,
    }


def _prepare(data: Data, patcher: FastPatcher) -> float:
    forms = patcher.forms(data)
    count = sum(form.arrays["indptr"][-1] for form in forms.values())
    return 1e9 * seconds_of(lambda: patcher.forms(data)) / float(count)


def _start(workers: int) -> None:
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=workers, include_dashboard=False, object_store_memory=STORE_BYTES, **quiet)


def _stop() -> None:
    import ray

    ray.shutdown()


def _warm_up(shards: int) -> None:
    """Let every worker import and compile all that it needs."""
    data = csbm(num_nodes=20 * shards)
    with tempfile.TemporaryDirectory() as folder:
        patcher = FastPatcher(4, method="push")
        write_patches(patcher, data, folder, shard_rows=20, make=shards_by(ray_jobs))


def verdict(result: dict[str, Any]) -> list[str]:
    """Return what isn't as it should be, one sentence each."""
    checks: Sequence[tuple[bool, str]] = (
        (result["same"], "all ways must give the same patches"),
        (
            result["overhead"] < MOST_OVERHEAD,
            f"overhead at one worker must be below {MOST_OVERHEAD:.0%} "
            f"(got {result['overhead']:.0%})",
        ),
        (
            result["efficiency"] >= LEAST_EFFICIENCY,
            f"efficiency at two workers must be at least {LEAST_EFFICIENCY} "
            f"(got {result['efficiency']:.2f})",
        ),
    )
    return [sentence for holds, sentence in checks if not holds]


def main(arguments: list[str] | None = None, measure: Callable[..., dict[str, Any]] = run) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ray")
    parser.add_argument("--graph", default=GRAPH, help="a dataset's name, or a path")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    data = load_dataset(options.graph, split=None)
    command = f"python -m benchmarks.ray --graph {options.graph}"
    found = measure(data, FastPatcher(16), options.repetitions)
    result = {"command": command, **found, "environment": environment()}
    if options.write:
        write_json(RESULT, result)
    if options.json:
        print(json.dumps(result))
    else:
        for name, seconds in result["seconds"].items():
            print(f"{name:15} {seconds:8.2f} s")
        print(f"overhead {result['overhead']:.1%}, efficiency {result['efficiency']:.2f}")
    wrong = verdict(result)
    if wrong:
        raise SystemExit("; ".join(wrong))


if __name__ == "__main__":
    main()
