"""Run a function in a separate process, with limits, so that its peak memory is its alone."""

import multiprocessing
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_GIB = 2**30
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Outcome:
    """The value that a child process returned, or why there is none."""

    value: Any = None
    why: str | None = None


def run_child(
    work: Callable[..., Any],
    *arguments: Any,
    limit: float | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> Outcome:
    """Run ``work(*arguments)`` in a new process and return its outcome.

    Args:
        work: a function at the top of a module; what it returns is sent back.
        limit: seconds after which the process is ended.
        memory: bytes of private memory that the process may have.
        threads: how many threads OpenMP, numba and torch start with; all cores by default.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, memory, work, arguments), daemon=True)
    with _environment(threads):
        process.start()
    sender.close()
    try:
        # a result larger than the pipe's buffer must be read before the process can end
        if not receiver.poll(limit):
            return Outcome(why=f"took longer than the limit of {limit:g} s")
        outcome: Outcome = receiver.recv()
        return outcome
    except EOFError:
        process.join()
        return Outcome(why=_ended(process.exitcode or 0))
    finally:
        process.terminate()
        process.join()
        receiver.close()


def peak_gib() -> float:
    """Return the largest resident memory that this process has had."""
    if _STATUS.is_file():
        # on Linux a process inherits ru_maxrss from its parent; this is of this process alone
        lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / _GIB
    # others count in KiB, macOS in bytes
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _GIB


def _work(
    sender: Connection,
    memory: int | None,
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    # Ctrl-C reaches every process of the terminal; the one that started this one ends it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.filterwarnings("ignore", message="Sparse ")
    if memory is not None and sys.platform == "linux":
        # unlike the size of the address space, this doesn't count what libraries only reserve
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    try:
        outcome = Outcome(work(*arguments))
    except Exception as error:
        outcome = Outcome(why=_reason(error))
    sender.send(outcome)
    sender.close()


def _reason(error: Exception) -> str:
    # here, because loading the package takes seconds and not all work needs it
    from herofilter.errors import HeroFilterError

    text = str(error).strip()
    if isinstance(error, HeroFilterError):
        return text
    first = text.partition("\n")[0]
    # torch raises a RuntimeError where an allocation fails
    if isinstance(error, MemoryError) or "can't allocate memory" in text:
        return f"ran out of memory: {first}".removesuffix(": ")
    return f"{type(error).__name__}: {first}".removesuffix(": ")


def _ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was killed from outside, perhaps for want of memory"
    name = signal.Signals(-code).name if code < 0 else str(code)
    return f"ended with {name} before it was done"


class _environment:
    """Variables that libraries read when they are loaded, set while a child starts."""

    def __init__(self, threads: int | None) -> None:
        names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        count = os.cpu_count() or 1 if threads is None else threads
        self.values: Mapping[str, str] = dict.fromkeys(names, str(count))
        self.before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in self.values}
        os.environ.update(self.values)

    def __exit__(self, *error: object) -> None:
        for name, value in self.before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
