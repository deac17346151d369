import pytest

from herofilter.reproduce.comparison import Comparison
from herofilter.reproduce.studies.verdict import (
    CONFIRMED,
    NOT_CONFIRMED,
    STRONGER,
    WEAKER,
    Finding,
    judge,
    judge_all,
)


def found(difference: float, error: float | None = 0.01) -> Comparison:
    return Comparison("a", "b", "karate", difference, error, 1 if error is None else 10)


@pytest.mark.parametrize(
    ("difference", "error", "paper", "word"),
    [
        (0.05, 0.01, None, CONFIRMED),
        (0.05, 0.01, 5.0, CONFIRMED),
        (0.05, 0.01, 7.0, CONFIRMED),
        (0.05, 0.01, 8.0, WEAKER),
        (0.05, 0.01, 2.0, STRONGER),
        (0.02, 0.01, 2.0, NOT_CONFIRMED),
        (-0.05, 0.01, 5.0, NOT_CONFIRMED),
        (0.5, None, 5.0, NOT_CONFIRMED),
    ],
)
def test_one_comparison(
    difference: float, error: float | None, paper: float | None, word: str
) -> None:
    assert judge(found(difference, error), paper) == word


@pytest.mark.parametrize(
    ("differences", "papers", "word", "why"),
    [
        ((0.05, 0.05), (5.0, None), CONFIRMED, "2 of 2"),
        ((0.05, 0.0), (5.0, 5.0), WEAKER, "Only 1 of 2"),
        ((0.05, 0.05), (9.0, 9.0), WEAKER, "2 of them ours is smaller"),
        ((0.05, 0.05), (1.0, 1.0), STRONGER, "2 of them ours is larger"),
        ((0.05, 0.05), (1.0, 9.0), CONFIRMED, "2 of 2"),
        ((0.0, -0.05), (1.0, 1.0), NOT_CONFIRMED, "of 2, 1 have the opposite one and 1 show no"),
    ],
)
def test_several_comparisons(
    differences: tuple[float, ...], papers: tuple[float | None, ...], word: str, why: str
) -> None:
    given, reason = judge_all([found(difference) for difference in differences], papers)
    assert given == word
    assert why in reason


def test_a_finding_has_one_of_the_words() -> None:
    with pytest.raises(ValueError, match="a word must be one of confirmed, stronger"):
        Finding((), "perhaps", "")
