"""Intervals of shares and of means, and how numbers are written in a page."""

import math
import statistics
from collections.abc import Sequence

_Z = 1.959964
# of Student's t for 95 %, by degrees of freedom
_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)


def share_interval(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    Example:
        >>> [round(end, 3) for end in share_interval(8, 10)]
        [0.49, 0.943]
    """
    if total == 0:
        return 0.0, 1.0
    share, z = right / total, _Z**2 / total
    centre = (share + z / 2) / (1 + z)
    half = math.sqrt(share * (1 - share) * z + z**2 / 4) / (1 + z)
    # rounding must not put an end on the wrong side of the share
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def share_error(right: int, total: int) -> float:
    """Return half the width of :func:`share_interval`."""
    low, high = share_interval(right, total)
    return (high - low) / 2


def percent_bars(counts: Sequence[tuple[int, int]]) -> tuple[list[float], list[float], list[float]]:
    """Return shares in percent, and how far their intervals reach above and below them.

    Args:
        counts: how many are right, and of how many, which is above 0.

    Example:
        >>> percent_bars([(8, 10)])[0]
        [80.0]
    """
    shares = [right / total for right, total in counts]
    ends = [share_interval(right, total) for right, total in counts]
    pairs = list(zip(shares, ends, strict=True))
    above = [100 * (high - share) for share, (_, high) in pairs]
    below = [100 * (share - low) for share, (low, _) in pairs]
    return [100 * share for share in shares], above, below


def mean_error(values: Sequence[float]) -> float | None:
    """Return half the width of the 95 % interval of a mean; None for a single value.

    Example:
        >>> round(mean_error([0.5, 0.7]), 2)
        1.27
    """
    if len(values) < 2:
        return None
    return spread_error(statistics.stdev(values), len(values))


def spread_error(deviation: float, total: int) -> float:
    """Return half the width of the 95 % interval of a mean of ``total`` values, at least two."""
    freedom = total - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _Z
    return t * deviation / math.sqrt(total)


def points(differences: Sequence[float]) -> str:
    """Return the mean of paired differences in points, with its 95 % interval where it has one.

    Example:
        >>> points([0.1, 0.2, 0.15]), points([-0.25])
        ('+15.0 ± 12.4', '−25.0')
    """
    if not differences:
        return "–"
    error = mean_error(differences)
    mean = f"{100 * statistics.fmean(differences):+.1f}".replace("-", "−")
    return mean if error is None else f"{mean} ± {100 * error:.1f}"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent.

    Example:
        >>> percent(0.876), percent(None)
        ('87.6 %', '–')
    """
    return "–" if share is None or math.isnan(share) else f"{100 * share:.{digits}f} %"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is due.

    Example:
        >>> count(1, "node"), count(12345, "node"), count(2, "class"), count(0, "study")
        ('1 node', '12,345 nodes', '2 classes', '0 studies')
    """
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"
