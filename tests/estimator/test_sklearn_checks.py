"""scikit-learn's own checks of an estimator; exceptions are explained in docs/estimator.md."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from herofilter import HeroFilterClassifier

PAGE = Path(__file__).parents[2] / "docs" / "estimator.md"
EXCEPTIONS = {
    "check_classifiers_classes": "it calls a class -1, which stands for no label here",
    "check_dtype_object": "it wants a TypeError, and bad input is a GraphError (a ValueError)",
}
MLP = HeroFilterClassifier(edges=[], model="mlp", epochs=25, hidden_channels=16, lr=0.05)
HERO = HeroFilterClassifier(
    edges=[], model="herofilter", epochs=15, hidden_channels=16, patch_size=2, lr=0.05
)


def exceptions(estimator: HeroFilterClassifier) -> dict[str, str]:
    return EXCEPTIONS


@parametrize_with_checks([MLP], expected_failed_checks=exceptions, xfail_strict=True)
def test_checks(estimator: HeroFilterClassifier, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([HERO], expected_failed_checks=exceptions, xfail_strict=True)
def test_checks_of_herofilter(
    estimator: HeroFilterClassifier, check: Callable[[Any], None]
) -> None:
    check(estimator)


def test_the_page_names_the_exceptions() -> None:
    rows = re.findall(r"^\| `(check_\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == EXCEPTIONS
