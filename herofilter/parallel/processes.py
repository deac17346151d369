"""Independent jobs, each in a worker process."""

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from herofilter.errors import RunError
from herofilter.lazy_names import raised_by_import

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")


def run_jobs(
    function: Callable[[Job], Outcome],
    jobs: Sequence[Job],
    workers: int,
    follow: Callable[[Outcome], Sequence[Job]] | None = None,
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each job as soon as it is finished; workers are processes.

    Closing the iterator ends the running jobs.

    Args:
        function: computes the outcome of a job; it must be at the top level of a module.
        jobs: the arguments of ``function``, the longest job first.
        workers: the number of processes; with one, the jobs run in this process, in order.
        follow: returns the jobs that an outcome makes possible; they come first in the queue.

    Example:
        >>> list(run_jobs(abs, [-1, -2], workers=1))
        [1, 2]
        >>> list(run_jobs(abs, [-2, 5], workers=1, follow=lambda size: [size - 1] * (size > 1)))
        [2, 1, 5, 4, 3, 2, 1]
    """
    waiting = deque(jobs)

    def advance(outcome: Outcome) -> None:
        if follow is not None:
            waiting.extendleft(reversed(follow(outcome)))

    if workers <= 1:
        while waiting:
            outcome = function(waiting.popleft())
            advance(outcome)
            yield outcome
        return
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    running: set[Future[Outcome]] = set()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.add(pool.submit(function, waiting.popleft()))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                advance(outcome)
                yield outcome
        pool.shutdown()
    except BrokenProcessPool:
        raise RunError(
            "every worker must live until its job ends, but one was killed, perhaps for lack "
            "of memory; finished jobs are kept, so run it again with --workers 1"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        # on Ctrl-C the user shouldn't wait for trainings that may last minutes
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()


def _start_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the one that started the workers ends them
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.filterwarnings("ignore", message="Sparse ")
    # a job's function is imported here, with all libraries that it needs
    show = warnings.showwarning

    def show_later(*warning: Any, **details: Any) -> None:
        if not raised_by_import():
            show(*warning, **details)

    warnings.showwarning = show_later
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent has ended, since nobody would read the outcome."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
