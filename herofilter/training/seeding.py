"""Repeatable work that leaves the caller's random state and settings as they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from herofilter.devices import CPU, forked_random_state


@contextmanager
def seeded(seed: int, device: torch.device = CPU) -> Iterator[torch.Generator]:
    """Run a block repeatably and yield a generator for its random numbers, on the CPU.

    Inside, torch's global random state follows ``seed`` (layers of other libraries know no
    other way), on the CPU and on ``device``, and sums run in a fixed order; all of it is put back
    afterwards.

    Example:
        >>> with seeded(0):
        ...     first = torch.rand(2)
        >>> with seeded(0):
        ...     torch.equal(first, torch.rand(2))
        True
    """
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    with forked_random_state(device):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        # nothing here reads memory that it hasn't written; filling it would only cost time
        memory.fill_uninitialized_memory = False
        try:
            yield torch.Generator().manual_seed(seed)
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warn_only)
            memory.fill_uninitialized_memory = fill
