"""How many threads a piece of work is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 50_000


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
    """Whether a graph of this size is trained with one thread.

    A step lasts milliseconds in hundreds of small operations; two threads that meet after each
    of them gain little, and lose much when another program wants a core too. With one thread
    the numbers don't depend on how many cores there are; several splits share out the cores.
    """
    return num_nodes <= SMALL
