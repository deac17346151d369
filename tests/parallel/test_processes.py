"""Jobs in processes: their order, and the message when a process dies."""

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from herofilter.errors import ConfigError, RunError
from herofilter.parallel.processes import run_jobs

PATIENCE = 120.0


def wait_for(path: Path | None) -> tuple[Path | None, int]:
    """Return the path once it exists, and the id of this process; None isn't waited for."""
    until = time.monotonic() + PATIENCE
    while path is not None and not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(str(path))
        time.sleep(0.05)
    return path, os.getpid()


def die(job: int) -> int:
    os._exit(job)


def fail(job: int) -> int:
    raise ConfigError(f"job {job} must fail")


def await_end(children: set[multiprocessing.process.BaseProcess]) -> None:
    until = time.monotonic() + PATIENCE
    while children & set(multiprocessing.active_children()):
        assert time.monotonic() < until, "the workers live on"
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [0, 1])
def test_one_worker_runs_jobs_in_this_process_in_order(workers: int) -> None:
    seen: list[int] = []

    def note(job: int) -> int:
        seen.append(job)
        return -job

    outcomes = run_jobs(note, [3, 1, 2], workers)
    # nothing is done before it is wanted
    assert (next(outcomes), seen) == (-3, [3])
    assert (list(outcomes), seen) == ([-1, -2], [3, 1, 2])


def test_outcomes_come_as_they_are_finished(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    # the first job waits for a file that is made when the second one's outcome is here
    outcomes = run_jobs(wait_for, [tmp_path / "go", None], workers=2)
    early, one = next(outcomes)
    assert early is None
    (tmp_path / "go").touch()
    ((late, other),) = list(outcomes)
    assert late == tmp_path / "go"
    assert len({one, other, os.getpid()}) == 3
    await_end(set(multiprocessing.active_children()) - before)


def test_closing_ends_running_jobs(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    outcomes = run_jobs(wait_for, [None, tmp_path / "never"], workers=2)
    next(outcomes)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 2
    started = time.monotonic()
    outcomes.close()
    await_end(workers)
    assert time.monotonic() - started < PATIENCE / 2


def test_a_worker_that_dies() -> None:
    with pytest.raises(RunError) as caught:
        list(run_jobs(die, [9, 9], workers=2))
    assert str(caught.value) == (
        "every worker must live until its job ends, but one was killed, perhaps for lack "
        "of memory; finished jobs are kept, so run it again with --workers 1"
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_is_passed_on(workers: int) -> None:
    with pytest.raises(ConfigError, match=r"^job 4 must fail$"):
        list(run_jobs(fail, [4, 4], workers))


STARTER = """
import sys
from pathlib import Path
from herofilter.parallel.processes import run_jobs
from tests.parallel.test_processes import note_process

folder = Path(sys.argv[1])
list(run_jobs(note_process, [folder / "one", folder / "two"], workers=2))
"""


def note_process(path: Path) -> None:
    path.with_suffix(".part").write_text(str(os.getpid()))
    path.with_suffix(".part").rename(path)
    time.sleep(PATIENCE)


def works(process: int) -> bool:
    """Whether a process is there and hasn't ended."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    noted = [tmp_path / "one", tmp_path / "two"]
    # a job has minutes of work left when its starter is killed
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)]) as starter:
        for path in noted:
            wait_for(path)
        starter.kill()
    until = time.monotonic() + PATIENCE / 4
    while any(works(int(path.read_text())) for path in noted):
        assert time.monotonic() < until, "the workers live on"
        time.sleep(0.05)
