"""Patches by an engine: the same bits as by this process, whatever is lost meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from herofilter.callbacks import Event
from herofilter.distributed.patches import make_shard, shards_by
from herofilter.distributed.ray_engine import connected, ray_jobs
from herofilter.errors import GraphError, RunError
from herofilter.files import DamagedFileError
from herofilter.parallel.processes import run_jobs
from herofilter.patchers import FastPatcher, PatchStore, write_patches
from tests.awkward import AWKWARD
from tests.distributed.conftest import ROOT, Nodes
from tests.distributed.slow_jobs import PATCHER, SHARD_ROWS, graph, slow_engine
from tests.events import steps
from tests.patchers.test_store import contents

HERE = partial(run_jobs, workers=1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected")
    return contents(write_patches(PATCHER, graph(), folder, shard_rows=SHARD_ROWS).path)


@pytest.mark.parametrize("name", AWKWARD)
def test_any_graph_gives_the_same_bits(tmp_path: Path, name: str) -> None:
    data = AWKWARD[name]()
    patchers = [
        FastPatcher(min(3, data.num_nodes), method="push", refine=50),
        FastPatcher(min(4, data.num_nodes), directed="keep", relations=("in", "coreference")),
        FastPatcher(min(4, data.num_nodes), method="push", filters=((0.0, 0.5, 0.5),)),
    ]
    for number, patcher in enumerate(patchers):
        here, other = tmp_path / f"{number}-here", tmp_path / f"{number}-other"
        write_patches(patcher, data, here, shard_rows=3)
        write_patches(patcher, data, other, shard_rows=3, make=shards_by(HERE))
        assert contents(here) == contents(other)
        assert not (other / "parts").exists()
        assert not (other / "prepared").exists()


def test_what_is_there_is_not_made_again(tmp_path: Path, expected: dict[str, bytes]) -> None:
    made: list[int] = []

    def engine(function: Callable[..., Any], jobs: Sequence[Any]) -> Any:
        # the shards whose files are there already, but not in the store
        for job in jobs[:3]:
            made.append(function(job))
        jobs[2].part.write_bytes(b"damaged")
        raise KeyboardInterrupt

    make = shards_by(engine)
    with pytest.raises(KeyboardInterrupt):
        write_patches(PATCHER, graph(), tmp_path, shard_rows=SHARD_ROWS, make=make)
    assert made == [0, 1, 2]
    events: list[Event] = []
    again: list[int] = []

    def count(function: Callable[..., Any], jobs: Sequence[Any]) -> Any:
        again.extend(job.shard for job in jobs)
        return HERE(function, jobs)

    make = shards_by(count)
    write_patches(PATCHER, graph(), tmp_path, events.append, SHARD_ROWS, make)
    assert again == list(range(2, 15))
    assert contents(tmp_path) == expected
    assert steps(events)[:2] == [(0, 900), (60, 900)]
    assert steps(events)[-1] == (900, 900)


def test_a_machine_without_the_folder_says_so(tmp_path: Path) -> None:
    jobs: list[Any] = []

    def keep(_: Any, found: Sequence[Any]) -> Any:
        jobs.extend(found)
        return iter(())

    write_patches(PATCHER, graph(), tmp_path, shard_rows=SHARD_ROWS, make=shards_by(keep))
    with pytest.raises(DamagedFileError, match="on a file system that every machine mounts"):
        make_shard(jobs[0])


def twice(number: int) -> int:
    return 2 * number


def fails(kind: int) -> None:
    raise GraphError("one sentence") if kind else ZeroDivisionError("by zero")


@pytest.mark.slow
def test_a_node_is_lost_on_the_way(
    tmp_path: Path, ray_nodes: Nodes, expected: dict[str, bytes]
) -> None:
    events: list[Event] = []

    def follow(event: Event) -> None:
        events.append(event)
        if len(events) == 4:
            ray_nodes.lose()

    make = shards_by(partial(slow_engine, ray_nodes.address))
    write_patches(PATCHER, graph(), tmp_path, follow, SHARD_ROWS, make)
    assert contents(tmp_path) == expected
    assert steps(events)[-1] == (900, 900)


@pytest.mark.slow
def test_a_killed_driver_goes_on(
    tmp_path: Path, ray_nodes: Nodes, expected: dict[str, bytes]
) -> None:
    command = [sys.executable, "-m", "tests.distributed.slow_jobs", ray_nodes.address]
    driver = subprocess.Popen([*command, str(tmp_path)], cwd=ROOT, stdin=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(PatchStore.open(tmp_path).finished()) >= 2, 60)
    finally:
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait(10)
    done = len(PatchStore.open(tmp_path).finished())
    assert done < 15
    asked: list[int] = []

    def count(function: Callable[..., Any], jobs: Sequence[Any]) -> Any:
        asked.extend(job.shard for job in jobs)
        return ray_jobs(function, jobs, ray_nodes.address)

    make = shards_by(count)
    write_patches(PATCHER, graph(), tmp_path, shard_rows=SHARD_ROWS, make=make)
    assert len(asked) <= 15 - done
    assert contents(tmp_path) == expected


@pytest.mark.slow
def test_errors_of_tasks_are_sentences(ray_nodes: Nodes) -> None:
    with pytest.raises(GraphError, match=r"^one sentence$"):
        list(ray_jobs(fails, [1, 1], ray_nodes.address))
    with pytest.raises(RunError, match=r"must succeed \(got ZeroDivisionError: by zero\); what is"):
        list(ray_jobs(fails, [0], ray_nodes.address))
    with connected(ray_nodes.address) as ray:
        # a block inside another one uses its connection and leaves it open
        assert sorted(ray_jobs(twice, [1, 2])) == [2, 4]
        assert ray.is_initialized()
    assert not ray.is_initialized()


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds; one whose files aren't there yet doesn't."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (DamagedFileError, OSError):
            pass
        time.sleep(0.1)
    raise TimeoutError(f"not within {seconds} s")


def test_waiting_ends() -> None:
    with pytest.raises(TimeoutError):
        wait_for(lambda: False, 0.2)
