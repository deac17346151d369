"""A parallel map over threads, and how many threads a task is worth."""

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
_pieces: ContextVar[int] = ContextVar("pieces", default=1)


@contextmanager
def one_thread(when: bool = True, pieces: bool = False) -> Iterator[None]:
    """Let torch use a single thread inside the block; put its setting back afterwards.

    With ``pieces`` the threads that torch doesn't use are there for :func:`parallel_map`.
    """
    before = torch.get_num_threads()
    token = _pieces.set(before if when and pieces else 1)
    if when:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _pieces.reset(token)


@contextmanager
def in_parallel(when: bool = True) -> Iterator[None]:
    """Give the threads that torch has at the moment to :func:`parallel_map` inside the block."""
    with one_thread(pieces=True) if when and torch.get_num_threads() > 1 else nullcontext():
        yield


def free_threads() -> int:
    """Return how many pieces :func:`parallel_map` would have at work at once."""
    return 1 if getattr(_here, "busy", False) else _pieces.get()


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work(item)`` of each item, in order, from as many threads as are free.

    The tasks must not depend on one another; then the results don't depend on the threads. A
    :func:`parallel_map` inside a task runs in the task's own thread.

    Example:
        >>> parallel_map(abs, [-1, 2, -3])
        [1, 2, 3]
    """
    items = list(items)
    # a task that waited for tasks of its own would wait for itself
    count = min(free_threads(), len(items))
    if count < 2:
        return [work(item) for item in items]
    gradients, results = torch.is_grad_enabled(), dict[int, Result]()
    # whoever is free takes the next one
    positions = iter(range(len(items)))

    def run() -> None:
        _here.busy = True
        try:
            # a new thread has a mode of its own
            with torch.set_grad_enabled(gradients):
                for position in positions:
                    results[position] = work(items[position])
        finally:
            _here.busy = False

    # the caller is one of the threads: it is awake already
    others = [_pool(os.getpid(), count - 1).submit(run) for _ in range(count - 1)]
    try:
        run()
    finally:
        # a thread that hasn't woken up by now has nothing left to do; the others are waited for
        errors = [other.exception() for other in others if not other.cancel()]
    for error in errors:
        if error is not None:
            raise error
    return [results[position] for position in range(len(items))]


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Return threads that stay: torch takes milliseconds to get a new one going.

    A process that was forked has none of its parent's.
    """
    return ThreadPoolExecutor(count, thread_name_prefix="herofilter-piece")


def is_small(num_nodes: int) -> bool:
    """Whether a graph of this size is trained with one thread.

    A step lasts milliseconds in hundreds of small operations; two threads that meet after each
    of them gain little, and lose much when another program wants a core too. With one thread
    the numbers don't depend on how many cores there are; several splits share out the cores.
    """
    return num_nodes <= SMALL
