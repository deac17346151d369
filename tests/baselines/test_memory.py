"""Models that claim a linear cost need twice the memory for twice the graph, not four times."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from herofilter.nn import list_models

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="peaks are read as Linux has them"),
]

SCALING = [entry.name for entry in list_models() if entry.scales and entry.gradients]
# twice, and something for what is rounded up; all pairs of nodes would be four
MOST = 2.7
Growth = Callable[[str], float]


@pytest.fixture(scope="module")
def growth() -> Iterator[Growth]:
    """Return how much more a model takes for twice the graph, by a process that measures."""
    settings = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        # what is freed goes back to the system at once
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "MALLOC_TRIM_THRESHOLD_": "65536",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "tests.baselines.peak_memory"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | settings,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(name: str) -> float:
            print(name, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert isinstance(answer, list), answer
            once, twice = answer
            return twice / once

        yield ask
        process.stdin.close()


def test_the_measure_finds_all_pairs(growth: Growth) -> None:
    assert growth("all-pairs") > 3.5


@pytest.mark.parametrize("name", SCALING)
def test_memory_is_linear_in_the_graph(name: str, growth: Growth) -> None:
    assert growth(name) < MOST
