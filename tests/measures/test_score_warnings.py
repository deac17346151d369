"""Warnings about scores, word for word, and none about good ones."""

from typing import Any

import pytest
import torch

from herofilter.measures import direction_warning, score_warnings
from herofilter.training.metrics import full_score


def scores(counts: tuple[int, ...], hits: tuple[int, ...]) -> dict[str, Any]:
    """Return the measures when so many nodes of each class are recognised; others get the next."""
    y, predicted = [], []
    for number, (count, right) in enumerate(zip(counts, hits, strict=True)):
        y += [number] * count
        predicted += [number] * right + [(number + 1) % len(counts)] * (count - right)
    logits = 3 * torch.nn.functional.one_hot(torch.tensor(predicted), len(counts)).float()
    return full_score(logits, torch.tensor(y))


GOOD = scores((100, 100), (90, 88))


def test_good_scores() -> None:
    assert score_warnings(GOOD, GOOD, 0, "no") == ()


def test_no_better_than_the_commonest_class() -> None:
    test = scores((780, 220), (765, 14))
    warnings = score_warnings(test, test, 0, "no")
    assert [(each.kind, each.where) for each in warnings] == [
        ("no-better-than-majority", "scores"),
        ("balanced-near-chance", "scores"),
    ]
    assert str(warnings[0]) == (
        "the kept model is right for 77.9 % of the test nodes, no more often than always saying "
        "'no' (78.0 %); see by its balanced accuracy whether it tells other classes; if not, "
        "give it a longer --budget, more columns or more labels"
    )
    equal = scores((780, 220), (780, 0))
    assert score_warnings(equal, equal, 0, "no")[0].kind == "no-better-than-majority"
    # the commonest class of training may be rare in the test
    assert score_warnings(test, test, 1, "yes")[0].kind == "balanced-near-chance"


def test_balanced_accuracy_near_chance() -> None:
    test = scores((900, 100), (895, 6))
    (warning,) = score_warnings(test, test, 0, "no")
    assert str(warning) == (
        "the balanced accuracy of 52.7 % on the test nodes can't be told from guessing "
        "(50.0 %, ± 3.0 by chance); try --class-weights, give more columns or edges, "
        "or label more nodes of rare classes"
    )
    few = scores((6, 6), (5, 4))
    assert [each.kind for each in score_warnings(few, few, 0, "no")] == ["balanced-near-chance"]
    better = scores((900, 100), (895, 20))
    assert score_warnings(better, better, 0, "no") == ()


def test_a_class_that_does_not_occur_is_no_chance() -> None:
    test = scores((50, 50, 0), (45, 46, 0))
    assert score_warnings(test, test, 0, "no") == ()


def test_one_class_in_the_test_nodes() -> None:
    test = scores((0, 30), (0, 30))
    assert score_warnings(test, test, 0, "no") == ()


@pytest.mark.parametrize(
    ("validation", "test", "warned"),
    [
        (((26, 26), (25, 25)), ((26, 26), (21, 21)), True),
        (((26, 26), (24, 24)), ((26, 26), (22, 22)), False),
        (((2600, 2600), (2400, 2400)), ((2600, 2600), (2200, 2200)), True),
        (((2600, 2600), (2400, 2400)), ((2600, 2600), (2330, 2330)), False),
        (((26, 26), (21, 21)), ((26, 26), (25, 25)), False),
    ],
)
def test_validation_above_test(
    validation: tuple[tuple[int, int], ...], test: tuple[tuple[int, int], ...], warned: bool
) -> None:
    found = score_warnings(scores(*validation), scores(*test), 0, "no")
    assert [each.kind for each in found] == ["validation-above-test"] * warned


def test_the_text_of_validation_above_test() -> None:
    validation, test = scores((26, 26), (25, 25)), scores((26, 26), (21, 21))
    (warning,) = score_warnings(validation, test, 0, "no")
    assert str(warning) == (
        "validation accuracy (96.2 %) is further above test accuracy (80.8 %) than chance "
        "explains; trust the test column; more labels, or fewer --trials, bring the two together"
    )


def test_directions_that_are_dropped() -> None:
    assert direction_warning(False, False, "a GCN") == ()
    assert direction_warning(True, True, "HeroFilter") == ()
    (warning,) = direction_warning(True, False, "a GCN")
    assert (warning.kind, warning.where) == ("directions-dropped", "edges")
    assert str(warning) == (
        "the edges have directions, but a GCN, which was kept, reads each of them both ways; "
        "if they matter, keep a model that reads them with --model herofilter "
        "--set directed=keep; if they don't, --undirected says so"
    )
