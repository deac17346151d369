"""The studies of time and of the grid: their rules, without measuring anything."""

import math
import os

import pytest

from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.reproduce.speed.child import Outcome
from herofilter.reproduce.studies import runtime, scalability
from herofilter.reproduce.studies.grid_search import GridSearch, choose
from herofilter.reproduce.studies.runtime import (
    LEARNED,
    OURS,
    judge_ratios,
    measure_model,
    next_ratio,
)
from herofilter.reproduce.studies.scalability import (
    FIT_FROM,
    Scalability,
    judge_slope,
    measure_stages,
    slope,
)
from herofilter.reproduce.studies.study import Finished, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER

SIZES = (1_000, 10_000, 100_000, 1_000_000)


@pytest.mark.parametrize(("power", "word"), [(0.5, CONFIRMED), (1.0, WEAKER), (1.5, NOT_CONFIRMED)])
def test_the_word_for_a_slope(power: float, word: str) -> None:
    noise = (1.0, 1.1, 0.9, 1.05)
    found = slope([(n, n**power * factor) for n, factor in zip(SIZES, noise, strict=True)])
    assert judge_slope(found)[0] == word


def test_two_sizes_have_no_slope() -> None:
    assert slope([(10, 1.0), (100, 2.0)]) is None
    assert slope([(10, 1.0), (10, 2.0), (10, 3.0)]) is None
    assert judge_slope(None)[0] == NOT_CONFIRMED


def test_patch_sizes_differ_by_a_factor_and_share_the_slope() -> None:
    study = Scalability()
    finished = [
        Finished(
            task,
            {
                stage: {
                    "seconds": task.config.patcher.patch_size
                    * math.sqrt(int(task.graph.split(":")[1])),
                    "repetitions": 3,
                    "peak_gib": 1.0,
                }
                for stage in ("patcher", "epoch", "inference")
            },
        )
        for task in study.tasks(quick=False)
    ]
    summary = study.summarise(finished)
    assert summary.finding.word == CONFIRMED
    assert summary.finding.table[1][:2] == ("one epoch", "0.50")
    assert min(row["nodes"] for row in summary.rows) < FIT_FROM


def test_a_stage_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Outcome(why="was killed from outside")
    monkeypatch.setattr(scalability, "run_child", lambda *arguments: failing)
    large = next(task for task in Scalability().tasks(quick=False) if "10000" in task.graph)
    with pytest.raises(RunError, match="but one was killed from outside"):
        measure_stages(large)


def timed(model: str, seconds: float | None, graph: str = "squirrel") -> Finished:
    task = Task(graph, model, Config(), 0, measure_model, "inference", model)
    return Finished(task, {"seconds": seconds, "why": None if seconds else "too slow"})


def test_the_ratio_is_to_the_fastest_other_model() -> None:
    finished = [timed(OURS, 2.0), timed("goat", 5.0), timed("gprgnn", 3.0), timed("bernnet", None)]
    assert next_ratio("squirrel", finished) == 1.5
    assert next_ratio("squirrel", finished[1:]) is None
    assert next_ratio("squirrel", finished[:1]) is None
    # HeroFilter with a learned filter is no other model
    assert next_ratio("squirrel", [*finished, timed(LEARNED, 1.0)]) == 1.5


def test_learned_filters_are_timed_where_the_spectrum_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "is_there", lambda graph: True)
    tasks = runtime.Runtime().tasks(quick=False)
    assert {task.graph for task in tasks if task.model == LEARNED} == {"squirrel", "chameleon"}
    assert {task.graph for task in tasks if task.model == OURS} == set(runtime.GRAPHS)


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ({"squirrel": 9.0, "chameleon": 8.0}, CONFIRMED),
        ({"squirrel": 9.0, "chameleon": 2.0}, WEAKER),
        ({"squirrel": 9.0, "chameleon": 0.5}, WEAKER),
        ({"squirrel": 0.9, "chameleon": None}, NOT_CONFIRMED),
        ({"squirrel": None}, NOT_CONFIRMED),
    ],
)
def test_the_word_for_ratios(ratios: dict[str, float | None], word: str) -> None:
    assert judge_ratios(ratios)[0] == word


def test_a_model_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Outcome(why="took longer than the limit of 600 s")
    monkeypatch.setattr(runtime, "run_child", lambda *arguments, **limits: slow)
    record = measure_model(timed("bernnet", None).task)
    assert record == {"seconds": None, "why": slow.why}


def test_measuring_leaves_the_cache_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", "somewhere")
    assert measure_model(timed("mlp", None, "karate").task)["seconds"] > 0
    assert os.environ["HEROFILTER_CACHE"] == "somewhere"


def test_every_split_chooses_by_its_own_validation() -> None:
    scores = {
        (0.01, 8, 10): {0: (0.7, 0.1), 1: (0.6, 0.9)},
        (0.01, 16, 10): {0: (0.8, 0.2), 1: (0.5, 0.3)},
    }
    assert choose(scores) == {0: (0.01, 16, 10), 1: (0.01, 8, 10)}


def test_a_grid_tells_how_many_settings_answer_one_class() -> None:
    tasks = GridSearch().tasks(quick=True)
    least = min(task.config.patcher.patch_size for task in tasks)
    finished = [
        Finished(
            task,
            {
                "val_accuracy": 0.5,
                "test_accuracy": 0.4,
                "test_balanced_accuracy": 0.25 if task.config.patcher.patch_size == least else 0.3,
            },
        )
        for task in tasks
    ]
    settings = {task.config for task in tasks}
    constant = {config for config in settings if config.patcher.patch_size == least}
    finding = GridSearch().summarise(finished).finding
    assert 0 < len(constant) < len(settings)
    assert finding.text[1].startswith(f"With {len(constant)} of them")
    # karate isn't in the paper
    assert finding.word == NOT_CONFIRMED
