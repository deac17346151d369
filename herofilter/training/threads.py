"""How many threads a training step is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 2000


@contextmanager
def threads_for(num_nodes: int) -> Iterator[None]:
    """Use one thread inside the block on a small graph, where waiting costs more than it gives.

    On a graph of some hundred nodes a step lasts a few milliseconds in hundreds of small
    operations; two threads that meet after each of them are slower than one, and far slower
    when another program wants a core too.
    """
    before = torch.get_num_threads()
    if num_nodes <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
