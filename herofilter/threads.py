"""How many threads a piece of work is worth."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

SMALL = 50_000
_NAME = "herofilter-piece"
_pieces: ContextVar[int] = ContextVar("pieces", default=1)


@contextmanager
def one_thread(when: bool = True, pieces: bool = False) -> Iterator[None]:
    """Let torch use a single thread inside the block; put its setting back afterwards.

    With ``pieces`` the threads that torch doesn't use are there for :func:`each`.
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


def each(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``work(item)`` of each item, in order, from as many threads as are free.

    The pieces must not depend on one another; then the results don't depend on the threads. What
    a piece does with :func:`each` it does by itself.

    Example:
        >>> each(abs, [-1, 2, -3])
        [1, 2, 3]
    """
    items = list(items)
    count = min(_pieces.get(), len(items))
    # a piece that waited for pieces of its own would wait for itself
    if count < 2 or threading.current_thread().name.startswith(_NAME):
        return [work(item) for item in items]
    gradients = torch.is_grad_enabled()

    def run(item: Item) -> Result:
        # a new thread has a mode of its own
        with torch.set_grad_enabled(gradients):
            return work(item)

    return list(_pool(os.getpid(), _pieces.get()).map(run, items))


@cache
def _pool(process: int, count: int) -> ThreadPoolExecutor:
    """Return threads that stay: torch takes milliseconds to get a new one going.

    A process that was forked has none of its parent's.
    """
    return ThreadPoolExecutor(count, thread_name_prefix=_NAME)


def is_small(num_nodes: int) -> bool:
    """Whether a graph of this size is trained with one thread.

    A step lasts milliseconds in hundreds of small operations; two threads that meet after each
    of them gain little, and lose much when another program wants a core too. With one thread
    the numbers don't depend on how many cores there are; several splits share out the cores.
    """
    return num_nodes <= SMALL
