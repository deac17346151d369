import pytest

from herofilter.reproduce.studies.sensitivity import (
    GRAPHS,
    ORDERS,
    PATCH_SIZES,
    Sensitivity,
    judge_rises,
    rises,
)
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER


def test_the_grid_is_complete() -> None:
    tasks = Sensitivity().tasks(quick=False)
    splits = sum(map(len, GRAPHS.values()))
    assert len({task.key for task in tasks}) == len(PATCH_SIZES) * len(ORDERS) * splits == 208


@pytest.mark.parametrize(
    ("by_size", "by_order", "word"),
    [(0.1, 0.1, CONFIRMED), (0.1, 0.0, WEAKER), (-0.1, 0.0, NOT_CONFIRMED)],
)
def test_the_word(by_size: float, by_order: float, word: str) -> None:
    noise = (0.0, 0.01, -0.01)
    points = {
        (size, order): [
            0.5 + by_size * (size == 64) + (by_order + jitter) * (order == 200) for jitter in noise
        ]
        for size in (8, 64)
        for order in (10, 200)
    }
    found = rises("karate", points)
    assert [entry.first for entry in found] == ["p = 64", "K = 200"]
    assert judge_rises(found)[0] == word
