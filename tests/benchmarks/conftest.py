"""Restore what benchmarks set in their processes, since here they share one with other tests."""

from collections.abc import Iterator

import numba
import pytest
import torch


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    threads, compiled = torch.get_num_threads(), numba.get_num_threads()
    yield
    torch.set_num_threads(threads)
    numba.set_num_threads(compiled)
