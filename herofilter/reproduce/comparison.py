"""Two variants on the same splits: their paired difference, its interval, and what it shows."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

WINS, LOSES = "wins", "loses"
NEITHER = "no difference that these splits can show"


class Comparison(NamedTuple):
    """Two variants on one graph: the mean paired difference in accuracy.

    ``error`` is the standard error of the difference over splits; None for a single split.
    """

    first: str
    second: str
    graph: str
    difference: float
    error: float | None
    num_splits: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % t-interval of the difference; None for a single split."""
        from scipy.stats import t

        if self.error is None:
            return None
        half = float(t.ppf(0.975, self.num_splits - 1)) * self.error
        return self.difference - half, self.difference + half

    @property
    def verdict(self) -> str:
        """Whether the first wins or loses, zero being outside the 95 % interval, or neither."""
        ends = self.interval
        if ends is None or ends[0] <= 0 <= ends[1]:
            return NEITHER
        return WINS if self.difference > 0 else LOSES

    @property
    def chance(self) -> float:
        """How often the rule would name a winner if there were none."""
        return 0.0 if self.error is None else 0.05

    def __str__(self) -> str:
        error = "" if self.error is None else f" ± {100 * self.error:.1f}"
        return f"{self.graph} ({100 * self.difference:+.1f}{error})"


def compare(
    first: str, second: str, graph: str, one: Sequence[float], other: Sequence[float]
) -> Comparison:
    """Return the comparison of two variants from their values on the same splits.

    Example:
        >>> compare("learned", "fixed", "texas", [0.8, 0.9, 0.85], [0.7, 0.8, 0.7]).verdict
        'wins'
    """
    differences = [a - b for a, b in zip(one, other, strict=True)]
    count = len(differences)
    error = statistics.stdev(differences) / math.sqrt(count) if count > 1 else None
    return Comparison(first, second, graph, statistics.fmean(differences), error, count)
