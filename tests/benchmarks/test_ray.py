"""The benchmark of the engine ray, in small."""

import importlib.util
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from benchmarks import ray as benchmark
from herofilter import FastPatcher, csbm

GOOD: dict[str, Any] = {
    "seconds": {"local": 2.0, "ray 1": 2.1, "ray 2": 1.1},
    "overhead": 0.05,
    "efficiency": 0.95,
    "same": True,
}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray isn't installed")
def test_all_ways_are_measured_and_give_the_same(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patcher = FastPatcher(4, method="push")
    # Ray keeps the token of its first HOME as long as its process lives
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        job = pool.submit(
            benchmark.run, csbm(num_nodes=400), patcher, 1, shard_rows=100, with_disk=False
        )
        found = job.result(timeout=240)
    assert found["same"]
    assert set(found["seconds"]) == {"warm-up", "local", "ray 1", "ray 2"}
    ways = found["seconds"]
    assert found["overhead"] == ways["ray 1"] / ways["local"] - 1
    assert found["efficiency"] == ways["ray 1"] / (2 * ways["ray 2"])
    assert all(seconds > 0 for seconds in found["start_seconds"].values())
    assert found["prepare_ns_per_entry"] > 0


def test_what_is_written_and_what_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(benchmark, "RESULT", tmp_path / "ray.json")
    benchmark.main(["--graph", "karate", "--write", "--json"], lambda *_: GOOD)
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "ray.json").read_text())
    bad = {**GOOD, "overhead": 0.2, "efficiency": 0.7, "same": False}
    with pytest.raises(SystemExit) as end:
        benchmark.main(["--graph", "karate"], lambda *_: bad)
    assert end.value.code == (
        "all ways must give the same patches; overhead at one worker must be below 15% (got 20%); "
        "efficiency at two workers must be at least 0.8 (got 0.70)"
    )
