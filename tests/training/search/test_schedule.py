"""Who is trained next, and for how long."""

import pytest

from herofilter.training.search.schedule import Attempt, Schedule, Turn

SHARES = {"mlp": 1.0, "gcn": 1.0, "herofilter": 2.0}


def done(name: str, score: float | None = 0.5, seconds: float = 1.0, ended: bool = True) -> Attempt:
    return Attempt(name, score=score, finished=ended, seconds=seconds)


def test_every_contender_has_a_first_training_in_order() -> None:
    schedule = Schedule(SHARES, trials=10)
    tried: list[Attempt] = []
    for name in SHARES:
        turn = schedule.turn(tried, 100.0)
        assert turn is not None
        assert (turn.contender, turn.number) == (name, 0)
        tried.append(done(name))


def test_a_first_training_leaves_time_for_those_after_it() -> None:
    schedule = Schedule(SHARES, trials=10)
    # twice a quarter of the time, then twice a third, then all of it
    assert schedule.turn([], 100.0) == Turn("mlp", 0, 50.0)
    assert schedule.turn([done("mlp")], 60.0) == Turn("gcn", 0, 40.0)
    assert schedule.turn([done("mlp"), done("gcn")], 30.0) == Turn("herofilter", 0, 30.0)


def test_the_search_goes_where_validation_says() -> None:
    schedule = Schedule({**SHARES, "sage": 1.0}, trials=1000)
    scores = {"mlp": 0.5, "gcn": 0.7, "herofilter": 0.9, "sage": 0.1}
    tried = [done(name, score) for name, score in scores.items()]
    for _ in range(100):
        turn = schedule.turn(tried, 1000.0)
        assert turn is not None
        tried.append(done(turn.contender, scores[turn.contender]))
    counts = {name: sum(entry.contender == name for entry in tried) - 1 for name in scores}
    assert counts == {"mlp": 15, "gcn": 25, "herofilter": 60, "sage": 0}


def test_what_would_not_end_in_time_is_not_begun() -> None:
    schedule = Schedule({"mlp": 1.0, "herofilter": 1.0}, trials=10)
    tried = [done("mlp", 0.6, seconds=2.0), done("herofilter", 0.9, seconds=50.0)]
    assert schedule.turn(tried, 10.0) == Turn("mlp", 1, 10.0)
    assert schedule.turn(tried, 2.0) is None


def test_one_that_the_clock_stopped_comes_again_only_with_twice_the_time() -> None:
    schedule = Schedule({"mlp": 1.0, "herofilter": 1.0}, trials=10)
    tried = [done("mlp", 0.6, seconds=2.0), done("herofilter", 0.9, seconds=20.0, ended=False)]
    assert schedule.turn(tried, 39.0) == Turn("mlp", 1, 39.0)
    assert schedule.turn(tried, 41.0) == Turn("herofilter", 0, 41.0)


def test_one_that_failed_does_not_come_again() -> None:
    schedule = Schedule({"mlp": 1.0}, trials=10)
    assert schedule.turn([Attempt("mlp", message="no memory", seconds=1.0)], 100.0) is None


@pytest.mark.parametrize(
    ("schedule", "left"),
    [
        (Schedule({"mlp": 1.0}, trials=1), 100.0),
        (Schedule({"mlp": 1.0}, trials=9, fixed=frozenset({"mlp"})), 100.0),
        (Schedule({"mlp": 1.0}, trials=9), 0.0),
    ],
    ids=["trials used up", "nothing to search", "no time"],
)
def test_when_it_is_over(schedule: Schedule, left: float) -> None:
    assert schedule.turn([done("mlp")], left) is None


def test_a_perfect_score_ends_the_search() -> None:
    schedule = Schedule({"mlp": 1.0}, trials=9)
    assert schedule.turn([done("mlp", 1.0)], 100.0) is None
    assert schedule.turn([done("mlp", 0.999)], 100.0) is not None
