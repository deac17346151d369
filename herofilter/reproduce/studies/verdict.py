"""From numbers to one word: does what the paper says hold here?

The words follow from rules, so the same numbers always give the same word.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from herofilter.reproduce.comparison import LOSES, NEITHER, WINS, Comparison

CONFIRMED, STRONGER, WEAKER, NOT_CONFIRMED = "confirmed", "stronger", "weaker", "not confirmed"
WORDS = (CONFIRMED, STRONGER, WEAKER, NOT_CONFIRMED)


@dataclass(frozen=True)
class Finding:
    """What a study found.

    Args:
        text: paragraphs that say what came out.
        word: one of ``WORDS``.
        why: the sentence that gives the reason for the word.
        titles: the columns of a table with the paper's numbers beside ours.
        table: its rows.
    """

    text: tuple[str, ...]
    word: str
    why: str
    titles: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = field(default=())

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"a word must be one of {', '.join(WORDS)} (got {self.word!r})")


def judge(comparison: Comparison, paper: float | None = None) -> str:
    """Return the word for the claim that the first of two variants is the better one.

    The claim holds where zero is outside the 95 % interval of the paired difference, on the
    claimed side. Where the paper gives the size, too, the claim is ``stronger`` if the paper's
    difference lies below the interval and ``weaker`` if it lies above.

    Args:
        comparison: ours, as shares.
        paper: the paper's difference, in points; None where it gives none.

    Example:
        >>> found = Comparison("ranked", "random", "cora", 0.03, 0.005, 10)
        >>> judge(found), judge(found, paper=5.9), judge(found, paper=1.0)
        ('confirmed', 'weaker', 'stronger')
    """
    ends = comparison.interval
    if ends is None or comparison.verdict != WINS:
        return NOT_CONFIRMED
    if paper is None:
        return CONFIRMED
    if paper < 100 * ends[0]:
        return STRONGER
    return WEAKER if paper > 100 * ends[1] else CONFIRMED


def judge_all(comparisons: Sequence[Comparison], papers: Sequence[float | None]) -> tuple[str, str]:
    """Return one word for several comparisons that must all hold, and the sentence that says why.

    If none holds, nothing is confirmed; if only some do, the claim is weaker than the paper's.
    Where all hold, it is stronger or weaker if most of the sizes are.
    """
    words = [judge(entry, paper) for entry, paper in zip(comparisons, papers, strict=True)]
    holds = [word for word in words if word != NOT_CONFIRMED]
    counted = f"{len(holds)} of {len(words)} comparisons have the paper's sign and exclude zero"
    if not holds:
        losses = sum(entry.verdict == LOSES for entry in comparisons)
        open_ = sum(entry.verdict == NEITHER for entry in comparisons)
        return NOT_CONFIRMED, (
            "No comparison has the paper's sign beyond its 95 % interval: of "
            f"{len(words)}, {losses} have the opposite one and {open_} show no difference."
        )
    if len(holds) < len(words):
        return WEAKER, f"Only {counted}."
    for word, than in ((STRONGER, "larger"), (WEAKER, "smaller")):
        if holds.count(word) > len(holds) / 2:
            return word, (
                f"{counted}, and in {holds.count(word)} of them ours is {than} than the paper's."
            )
    return CONFIRMED, f"{counted}."


def is_constant(balanced_accuracy: float) -> bool:
    """Return whether this is the balanced accuracy of one class for every node.

    Example:
        >>> is_constant(0.25), is_constant(0.28)
        (True, False)
    """
    if not 0 < balanced_accuracy <= 0.5:
        return False
    classes = 1 / balanced_accuracy
    return math.isclose(classes, round(classes), rel_tol=1e-6)
