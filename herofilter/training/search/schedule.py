"""Who is trained next, and how long it may take: contenders that share a budget of time."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# of the time for a search: the best contender so far, the second, the third
SEARCH_SHARES = (0.6, 0.25, 0.15)
# a first training may take so many times its share of what is left
PATIENCE = 2.0
# nothing is left to search for
PERFECT = 1.0
# trainings of one model differ in length by about this factor
MARGIN = 1.3


@dataclass(frozen=True)
class Attempt:
    """One training of a contender.

    Args:
        contender: whose.
        settings: what differs from the contender's first training; empty for that one.
        score: on the validation nodes by the metric that chooses; None if there is no model.
        finished: whether training ended by itself, not by the clock and not by an error.
        seconds: it took.
        message: why it failed, if it did.
    """

    contender: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    finished: bool = False
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Turn:
    """Whose turn it is: a contender, which of its trainings, and the seconds that it may take."""

    contender: str
    number: int
    seconds: float


@dataclass(frozen=True)
class Schedule:
    """Share out time between contenders.

    First each is trained once with its recommended settings, in the order given, the cheapest
    first. A first training may take twice its share of the time that is left, so that a slow
    contender leaves room for those after it. What is left then is a search: most of it goes to
    the contender that validation prefers and some to the two after it. One whose first training
    was stopped by the clock begins it anew if it would now have twice the time, and has no part in
    the search before it has finished. A perfect score ends the search.

    Args:
        shares: weights of the contenders' first trainings, in their order.
        trials: trainings of each contender at most.
        fixed: contenders with nothing to search.

    Example:
        >>> schedule = Schedule({"mlp": 1.0, "herofilter": 3.0}, trials=2)
        >>> schedule.turn([], 40.0)
        Turn(contender='mlp', number=0, seconds=20.0)
        >>> tried = [Attempt("mlp", score=0.7, finished=True, seconds=5.0)]
        >>> schedule.turn(tried, 35.0)
        Turn(contender='herofilter', number=0, seconds=35.0)
    """

    shares: Mapping[str, float]
    trials: int
    fixed: frozenset[str] = frozenset()

    def turn(self, attempts: Sequence[Attempt], left: float) -> Turn | None:
        """Return the next training, or None when the time or the trials are used up."""
        if left <= 0:
            return None
        tried = {attempt.contender for attempt in attempts}
        waiting = [name for name in self.shares if name not in tried]
        if waiting:
            share = self.shares[waiting[0]] / sum(self.shares[name] for name in waiting)
            return Turn(waiting[0], 0, min(left, PATIENCE * share * left))
        return self._search(attempts, left)

    def _search(self, attempts: Sequence[Attempt], left: float) -> Turn | None:
        if any(entry.finished and (entry.score or 0.0) >= PERFECT for entry in attempts):
            return None
        by_name: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            by_name.setdefault(attempt.contender, []).append(attempt)
        for name, own in by_name.items():
            # its time was too short, and it would now have twice as much
            if _ran_out(own) and left > PATIENCE * max(entry.seconds for entry in own):
                return Turn(name, 0, left)
        open_names = [
            name
            for name, own in by_name.items()
            if _is_finished(own) and name not in self.fixed and len(own) < self.trials
        ]
        ranked = sorted(open_names, key=lambda name: -_best(by_name[name]))
        shares = dict(zip(ranked, SEARCH_SHARES, strict=False))
        for name in sorted(shares, key=lambda name: _searched(by_name[name]) / shares[name]):
            own = by_name[name]
            expected = MARGIN * statistics.fmean(attempt.seconds for attempt in own)
            if expected <= left:
                return Turn(name, len(own), left)
        return None


def _best(attempts: Sequence[Attempt]) -> float:
    return max((entry.score for entry in attempts if entry.score is not None), default=-1.0)


def _is_finished(attempts: Sequence[Attempt]) -> bool:
    return any(attempt.finished for attempt in attempts)


def _ran_out(attempts: Sequence[Attempt]) -> bool:
    """Return whether time was all that a contender lacked."""
    return not any(attempt.finished or attempt.message for attempt in attempts)


def _searched(attempts: Sequence[Attempt]) -> float:
    """Return the seconds of the search, which begins after the first training."""
    return sum(attempt.seconds for attempt in attempts[1:])
