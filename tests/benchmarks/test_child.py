"""Work in a child process: results come back, failures become sentences, limits hold."""

import os
import signal
import time
from collections.abc import Callable

import pytest

from herofilter.reproduce.speed.child import Outcome, peak_gib, run_child
from tests.benchmarks.work import die, double, fail, large, refuse, take, variables


def test_results_come_back() -> None:
    assert run_child(double, 21) == Outcome(42)
    # more than a pipe holds at once
    assert len(run_child(large, 2**20).value) == 2**20


@pytest.mark.parametrize(
    ("work", "arguments", "why"),
    [
        (refuse, (), "p must be even (got 3)"),
        (fail, ("first line\nsecond line",), "ValueError: first line"),
        (fail, ("",), "ValueError"),
        (die, (signal.SIGKILL,), "was killed from outside, perhaps for want of memory"),
        (die, (signal.SIGSEGV,), "ended with SIGSEGV before it was done"),
        (os._exit, (3,), "ended with 3 before it was done"),
    ],
)
def test_failures_say_why(
    work: Callable[..., None], arguments: tuple[object, ...], why: str
) -> None:
    assert run_child(work, *arguments) == Outcome(why=why)


def test_time_is_limited() -> None:
    started = time.perf_counter()
    assert run_child(time.sleep, 60, limit=0.5) == Outcome(
        why="took longer than the limit of 0.5 s"
    )
    assert time.perf_counter() - started < 30


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc"), reason="memory is limited on Linux only")
def test_memory_is_limited() -> None:
    assert run_child(take, 2**34, memory=2**33) == Outcome(why="ran out of memory")
    assert run_child(take, 2**20, memory=2**33) == Outcome(2**20)


def test_a_child_has_its_own_peak() -> None:
    held = bytearray(2**29)
    child = run_child(peak_gib).value
    assert 0 < child < 0.4 < peak_gib()
    assert len(held) == 2**29


def test_threads_are_told_to_the_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    assert run_child(variables, threads=1).value == ("1", "1")
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NUMBA_NUM_THREADS" not in os.environ
