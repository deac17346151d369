"""Seconds of one call and of several."""

import statistics
import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def repeated(
    work: Callable[[], object], most: int = 5, budget: float = 20.0, least: float = 0.0
) -> list[float]:
    """Return the seconds of up to ``most`` calls, as many as fit into ``budget`` seconds.

    Short calls are repeated until ``least`` seconds have passed, for a stable median.
    """
    times = [seconds_of(work)]
    while sum(times) + statistics.median(times) <= budget:
        if len(times) >= most and sum(times) >= least:
            break
        times.append(seconds_of(work))
    return times
