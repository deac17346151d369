"""What is suspicious about the scores of a model, told when training is over."""

import math
from collections.abc import Mapping
from typing import Any

from herofilter.measures.fit_warning import FitWarning, percent

# standard errors beyond which a difference isn't chance
ERRORS = 2.0
SMALLEST_GAP = 0.03

Scores = Mapping[str, Any]


def score_warnings(
    validation: Scores, test: Scores, majority: int, name: str
) -> tuple[FitWarning, ...]:
    """Return what is suspicious about the scores of the model that was kept.

    Args:
        validation: measures on the validation nodes, as
            :func:`~herofilter.training.metrics.full_score` returns them.
        test: the same of the test nodes.
        majority: the class that most training nodes have.
        name: what that class is called.
    """
    return (
        *_no_better_than_majority(test, majority, name),
        *_balanced_near_chance(test),
        *_validation_above_test(validation, test),
    )


def direction_warning(directed: bool, reads_directions: bool, title: str) -> tuple[FitWarning, ...]:
    """Return a warning if a model reads each edge of a directed graph both ways.

    Args:
        directed: whether the graph is.
        reads_directions: whether the model, as it was trained, tells an edge from its reverse.
        title: what the model is called.
    """
    if not directed or reads_directions:
        return ()
    return (
        FitWarning(
            "directions-dropped",
            f"the edges have directions, but {title}, which was kept, reads each of them both ways",
            "if they matter, keep a model that reads them with --model herofilter "
            "--set directed=keep; if they don't, --undirected says so",
            "edges",
        ),
    )


def _no_better_than_majority(test: Scores, majority: int, name: str) -> list[FitWarning]:
    always = test["classes"][majority]["count"] / _count(test)
    if test["accuracy"] > always:
        return []
    return [
        FitWarning(
            "no-better-than-majority",
            f"the kept model is right for {percent(test['accuracy'])} of the test nodes, no more "
            f"often than always saying {name!r} ({percent(always)})",
            "see by its balanced accuracy whether it tells other classes; if not, give it a "
            "longer --budget, more columns or more labels",
            "scores",
        )
    ]


def _balanced_near_chance(test: Scores) -> list[FitWarning]:
    classes = [entry for entry in test["classes"] if entry["count"]]
    chance = 1 / len(classes)
    recalls = ((entry["recall"] * entry["count"], entry["count"]) for entry in classes)
    error = math.sqrt(sum(_variance(*recall) for recall in recalls)) / len(classes)
    noise = max(SMALLEST_GAP, ERRORS * error)
    if len(classes) < 2 or test["balanced_accuracy"] - chance > noise:
        return []
    return [
        FitWarning(
            "balanced-near-chance",
            f"the balanced accuracy of {percent(test['balanced_accuracy'])} on the test nodes "
            f"can't be told from guessing ({percent(chance)}, ± {100 * noise:.1f} by chance)",
            "try --class-weights, give more columns or edges, or label more nodes of rare classes",
            "scores",
        )
    ]


def _validation_above_test(validation: Scores, test: Scores) -> list[FitWarning]:
    gap = validation["accuracy"] - test["accuracy"]
    pairs = ((scores["accuracy"] * _count(scores), _count(scores)) for scores in (validation, test))
    if gap < max(SMALLEST_GAP, ERRORS * math.sqrt(sum(_variance(*pair) for pair in pairs))):
        return []
    return [
        FitWarning(
            "validation-above-test",
            f"validation accuracy ({percent(validation['accuracy'])}) is further above test "
            f"accuracy ({percent(test['accuracy'])}) than chance explains",
            "trust the test column; more labels, or fewer --trials, bring the two together",
            "scores",
        )
    ]


def _count(scores: Scores) -> int:
    return sum(int(entry["count"]) for entry in scores["classes"])


def _variance(hits: float, count: int) -> float:
    """Return the variance of a share of ``count`` nodes; that of none or all isn't zero."""
    share = (hits + 1) / (count + 2)
    return share * (1 - share) / count
