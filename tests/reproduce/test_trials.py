"""The trials of a table: the same for all at first, then Optuna's, and always the same again."""

import pytest

from herofilter.config import Config
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from herofilter.reproduce.table_graphs import GraphPlan
from herofilter.reproduce.table_rows import ROWS
from herofilter.reproduce.trials import GRID, PROTOCOL, SPACE, Plan, check_trials

OPTIONS = {"hops": (2, 5, 10)}
SCORES = [0.5, 0.6, 0.7, 0.4, 0.65, None, 0.71]


def proposals(plan: Plan, scores: list[float | None]) -> list[dict[str, object]]:
    return [plan.propose(scores[:count]) for count in range(len(scores) + 1)]


def test_the_grid_comes_first_and_is_shared() -> None:
    some = proposals(Plan(PROTOCOL, OPTIONS), SCORES)[: len(GRID)]
    others = proposals(Plan(PROTOCOL, {}), SCORES)[: len(GRID)]
    assert some == others == [{**PROTOCOL, **point} for point in GRID]
    assert some[0] == PROTOCOL


def test_then_proposals_stay_within_the_space_and_differ() -> None:
    later = proposals(Plan(PROTOCOL, OPTIONS), SCORES)[len(GRID) :]
    for settings in later:
        assert set(settings) == {*PROTOCOL, "hops"}
        assert all(settings[key] in values for key, values in {**SPACE, **OPTIONS}.items())
        assert all(settings[key] == PROTOCOL[key] for key in PROTOCOL if key not in SPACE)
    texts = [str(sorted(settings.items())) for settings in later]
    assert len(set(texts)) == len(texts) == 4


def test_the_same_scores_lead_to_the_same_proposals() -> None:
    first, second = (proposals(Plan(PROTOCOL, OPTIONS), SCORES) for _ in range(2))
    assert first == second


def test_proposals_follow_the_scores() -> None:
    best = [0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    other = [0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.1]
    plan = Plan(PROTOCOL, OPTIONS)
    assert proposals(plan, best) != proposals(plan, other)


def test_a_tiny_space_that_is_used_up_repeats_itself() -> None:
    plan = Plan(PROTOCOL, OPTIONS)
    scores: list[float | None] = [0.5] * 12
    assert len(proposals(plan, scores)) == 13


def test_every_row_makes_configurations_that_the_model_reads() -> None:
    for row in ROWS.values():
        plan = row.plan(GraphPlan("texas", 183, True, (0,)))
        settings = plan.propose([0.5] * len(GRID))
        Config().replace(**settings)
        own = {} if row.options else find_model(row.model).options
        assert set(own) <= set(settings)
        assert {"hidden_channels": 64, "epochs": 500, "patience": 50}.items() <= settings.items()


def test_no_trial_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"trials must be at least 1 \(got 0\)"):
        check_trials(0)
