"""scikit-learn's own checks of an estimator; exceptions are explained in docs/estimator.md."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from herofilter import HeroFilterClassifier

# earlier ones have other checks, and no strict exceptions
pytest.importorskip("sklearn", minversion="1.8")

PAGE = Path(__file__).parents[2] / "docs" / "estimator.md"
EXCEPTIONS = {
    "check_classifiers_classes": "it calls a class -1, which stands for no label here",
    "check_dtype_object": "it wants a TypeError, and bad input is a GraphError (a ValueError)",
}
# the size of a product, and a row's position in it, decide in which order its floats are added
WITHIN_FLOAT32 = ("check_methods_subset_invariance", "check_methods_sample_order_invariance")
MLP = HeroFilterClassifier(edges=[], model="mlp", epochs=25, hidden_channels=16, lr=0.05)
HERO = HeroFilterClassifier(
    edges=[], model="herofilter", epochs=15, hidden_channels=16, patch_size=2, lr=0.05
)


def exceptions(estimator: HeroFilterClassifier) -> dict[str, str]:
    return EXCEPTIONS


def run_unless_below_float32(estimator: HeroFilterClassifier, check: Callable[[Any], None]) -> None:
    if check.func.__name__ in WITHIN_FLOAT32:
        pytest.skip("its tolerance is below float32: test_a_node_has_the_same_probabilities")
    check(estimator)


@parametrize_with_checks([MLP], expected_failed_checks=exceptions, xfail_strict=True)
def test_checks(estimator: HeroFilterClassifier, check: Callable[[Any], None]) -> None:
    run_unless_below_float32(estimator, check)


@pytest.mark.slow
@parametrize_with_checks([HERO], expected_failed_checks=exceptions, xfail_strict=True)
def test_checks_of_herofilter(
    estimator: HeroFilterClassifier, check: Callable[[Any], None]
) -> None:
    run_unless_below_float32(estimator, check)


@pytest.mark.parametrize("model", [MLP, pytest.param(HERO, marks=pytest.mark.slow)])
def test_a_node_has_the_same_probabilities(model: HeroFilterClassifier) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    fitted = clone(model).fit(x, (x[:, 0] > 0).astype(int))
    together = fitted.predict_proba(x)
    alone = np.concatenate([fitted.predict_proba(row[None]) for row in x])
    np.testing.assert_allclose(alone, together, atol=2e-6)
    order = rng.permutation(60)
    np.testing.assert_allclose(fitted.predict_proba(x[order]), together[order], atol=2e-6)


def test_the_page_names_the_exceptions() -> None:
    rows = re.findall(r"^\| `(check_\w+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == EXCEPTIONS
