"""Seconds: of one call, and the median of several."""

import statistics
import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def repeated(work: Callable[[], object], most: int = 5, budget: float = 20.0) -> list[float]:
    """Return the seconds of up to ``most`` calls; there is no other after ``budget`` seconds."""
    times = [seconds_of(work)]
    while len(times) < most and sum(times) + statistics.median(times) <= budget:
        times.append(seconds_of(work))
    return times
