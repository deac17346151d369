"""The time that a fit may take."""

import time
from dataclasses import dataclass, field

# seconds that are kept for what follows the last training: at least, and of the budget
LEAST_RESERVE, RESERVE = 1.5, 0.04


@dataclass
class Clock:
    """The time that a fit may take, and what of it is kept for the end.

    Args:
        budget: seconds in all.
        started: a value of :func:`time.perf_counter`, perhaps of before this process could call it.
        reserve: seconds for what follows the last training: predictions of all nodes, files.
        afterwards: seconds for what the caller does after that, a quarter of the budget at most.
    """

    budget: float
    started: float = field(default_factory=time.perf_counter)
    reserve: float = 0.0
    afterwards: float = 0.0

    def __post_init__(self) -> None:
        self.reserve = max(self.reserve, LEAST_RESERVE, RESERVE * self.budget)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds left for training."""
        afterwards = min(self.afterwards, self.budget / 4)
        return self.budget - self.reserve - afterwards - self.elapsed

    def keep(self, seconds: float) -> None:
        """Keep at least so many seconds, but no more than half of the budget, for the end."""
        self.reserve = max(self.reserve, min(seconds, self.budget / 2))
