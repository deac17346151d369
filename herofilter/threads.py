"""How many threads a piece of work is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 2000


@contextmanager
def one_thread(when: bool = True) -> Iterator[None]:
    """Let torch use a single thread inside the block; put its setting back afterwards."""
    before = torch.get_num_threads()
    if when:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_small(num_nodes: int) -> bool:
    """Whether a training step on a graph of this size is better off with one thread.

    On a graph of some hundred nodes a step lasts a few milliseconds in hundreds of small
    operations; two threads that meet after each of them are slower than one, and far slower
    when another program wants a core too.
    """
    return num_nodes <= SMALL
