"""A parallel map over threads, and how many threads torch uses meanwhile."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALL = 50_000
_here = threading.local()
_map_threads: ContextVar[int] = ContextVar("map_threads", default=1)


@contextmanager
def one_thread(when: bool = True, parallel: bool = False) -> Iterator[None]:
    """Let torch use a single thread inside the block and restore its setting afterwards.

    Args:
        when: whether to do so; without it the block changes nothing for torch.
        parallel: whether :func:`parallel_map` may use the threads that torch gives up.
    """
    before = torch.get_num_threads()
    token = _map_threads.set(before if when and parallel else 1)
    if when:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _map_threads.reset(token)


@contextmanager
def in_parallel(when: bool = True) -> Iterator[None]:
    """Let :func:`parallel_map` use torch's threads inside the block, and torch a single one."""
    with one_thread(parallel=True) if when and torch.get_num_threads() > 1 else nullcontext():
        yield


def free_threads() -> int:
    """Return how many threads :func:`parallel_map` would use here."""
    return 1 if getattr(_here, "busy", False) else _map_threads.get()


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work(item)`` of each item, in order, computed by all free threads.

    The tasks must not depend on one another; then the results don't depend on the threads. A
    :func:`parallel_map` inside a task runs in that task's thread.

    Example:
        >>> parallel_map(abs, [-1, 2, -3])
        [1, 2, 3]
    """
    items = list(items)
    # no nested pool: tasks that wait for tasks in the same pool would block each other
    count = min(free_threads(), len(items))
    if count < 2:
        return [work(item) for item in items]
    gradients, results = torch.is_grad_enabled(), dict[int, Result]()
    # all threads take the next item from one iterator
    positions = iter(range(len(items)))

    def run() -> None:
        _here.busy = True
        try:
            # torch's gradient mode is set per thread
            with torch.set_grad_enabled(gradients):
                for position in positions:
                    results[position] = work(items[position])
        finally:
            _here.busy = False

    # the caller works too: it needs no start-up
    others = [_pool(os.getpid(), count - 1).submit(run) for _ in range(count - 1)]
    try:
        run()
    finally:
        # a task that hasn't started by now has nothing left to do; the others are waited for
        errors = [other.exception() for other in others if not other.cancel()]
    for error in errors:
        if error is not None:
            raise error
    return [results[position] for position in range(len(items))]


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Return a thread pool that is kept: torch takes milliseconds to start a new thread.

    Its key has the process, since a forked process has none of its parent's threads.
    """
    return ThreadPoolExecutor(count, thread_name_prefix="herofilter-map")


def is_small(num_nodes: int) -> bool:
    """Whether a graph of this size is trained with one thread.

    A step is hundreds of small operations within milliseconds; two threads that synchronise after
    each of them gain little, and lose much when another program needs a core. With one thread the
    results don't depend on the number of cores; several splits run on several cores instead.
    """
    return num_nodes <= SMALL
