import math

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st

from herofilter.errors import ConfigError, GraphError
from herofilter.spectral import ACTIVATIONS, AdaptiveFilter
from herofilter.theory import align, aligning_weights, best_alignment
from herofilter.theory.alignment import _INVERSES

sizes = st.floats(1e-3, 1.0)
eigenvalues = sizes | sizes.map(lambda value: -value)


@given(
    st.lists(st.tuples(eigenvalues, st.integers(0, 6)), min_size=1, max_size=12),
    st.integers(1, 200),
    st.sampled_from(sorted(ACTIVATIONS)),
)
@settings(max_examples=300, deadline=None)
def test_any_labels_are_aligned_with(
    rows: list[tuple[float, int]], order: int, activation: str
) -> None:
    values, labels = zip(*rows, strict=True)
    assume(any(labels))
    spectrum, y = torch.tensor(values, dtype=torch.float64), torch.tensor(labels)
    weights = aligning_weights(spectrum, y, order, activation)
    assert weights.shape == (order, len(rows))
    g = AdaptiveFilter(order=order, activation=activation).response(spectrum, weights)
    assert align(g, y) == pytest.approx(1.0, abs=1e-12)
    # proportional entry by entry, which a cosine near one doesn't say
    torch.testing.assert_close(g * y.max(), g.max() * y, rtol=1e-9, atol=1e-12)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.floats(0.01, 0.199))
@settings(deadline=None)
def test_targets_of_both_signs_and_any_small_scale(values: list[float], scale: float) -> None:
    y = torch.tensor(values, dtype=torch.float64)
    assume(float(y.norm()) > 1e-3)
    spectrum = torch.linspace(-1, 0.9, y.numel(), dtype=torch.float64)
    for activation in ("tanh", "softsign", "identity"):
        weights = aligning_weights(spectrum, y, 3, activation, scale=scale)
        g = AdaptiveFilter(order=3, activation=activation).response(spectrum, weights)
        torch.testing.assert_close(g, scale * y, rtol=1e-9, atol=1e-12)


def test_every_activation_has_its_inverse() -> None:
    assert set(_INVERSES) == set(ACTIVATIONS)
    for name, sigma in _INVERSES.items():
        inside = torch.linspace(max(sigma.lowest, -0.9), min(sigma.highest, 0.9), 19)
        torch.testing.assert_close(ACTIVATIONS[name](sigma.inverse(inside)), inside)


@pytest.mark.parametrize("scale", [0.5, 10.0])
def test_a_bounded_activation_needs_a_small_scale(scale: float) -> None:
    with pytest.raises(ConfigError) as caught:
        aligning_weights(torch.ones(3), torch.tensor([0, 1, 2]), 4, scale=scale)
    assert str(caught.value) == (
        f"scale must be above 0 and below 0.5 (got {scale:g}), so that tanh can reach scale · y; "
        "leave it out for one that fits"
    )


def test_an_unbounded_activation_takes_any_positive_scale() -> None:
    weights = aligning_weights(torch.ones(2), torch.tensor([0, 7]), 1, "relu", scale=100.0)
    assert weights.tolist() == [[0.0, 700.0]]
    with pytest.raises(ConfigError, match=r"^scale must be positive \(got 0\)"):
        aligning_weights(torch.ones(2), torch.tensor([0, 7]), 1, "relu", scale=0.0)


def test_zero_eigenvalues_are_refused_where_the_label_is_not_zero() -> None:
    spectrum = torch.tensor([0.0, 1e-17, 0.0, 1.0])
    with pytest.raises(GraphError) as caught:
        aligning_weights(spectrum, torch.tensor([1, 2, 0, 1]), 4)
    assert str(caught.value) == (
        "eigenvalues must not be zero where y isn't (got 2 such zeros): every power of zero is "
        "zero, so no weight changes g there; best_alignment says what can be reached"
    )
    weights = aligning_weights(spectrum, torch.tensor([0, 0, 0, 1]), 2)
    assert bool(weights.isfinite().all())


@given(st.lists(st.tuples(st.sampled_from([0.0, -0.5, 1.0]), st.integers(0, 4)), min_size=1))
@settings(deadline=None)
def test_no_weights_beat_the_best_alignment(rows: list[tuple[float, int]]) -> None:
    values, labels = zip(*rows, strict=True)
    assume(any(labels))
    spectrum, y = torch.tensor(values, dtype=torch.float64), torch.tensor(labels)
    best = best_alignment(spectrum, y)
    reachable = torch.where(spectrum == 0, 0, y)
    assert best == pytest.approx(math.sqrt(int((reachable**2).sum()) / int((y**2).sum())))
    if bool(reachable.any()):
        g = AdaptiveFilter(order=2).response(spectrum, aligning_weights(spectrum, reachable, 2))
        assert align(g, y) == pytest.approx(best)


@pytest.mark.parametrize(
    ("y", "options", "text"),
    [
        ([0, 0], {}, "y must not be zero everywhere (got zeros only, with which no vector has"),
        ([1, -1], {"activation": "relu"}, "y must not be negative with relu, which never is (got"),
        ([1, 1], {"order": 0}, "order must be at least 1 (got 0)"),
        ([1, 1], {"activation": "tanhh"}, "activation must be one of tanh, identity, relu, softs"),
        ([1, 1, 1], {}, "both vectors must have the same length, one entry per eigenvalue (got"),
    ],
)
def test_what_cannot_be_aligned_is_refused(y: list[int], options: dict, text: str) -> None:
    arguments = {"order": 2, **options}
    with pytest.raises((ConfigError, GraphError)) as caught:
        aligning_weights(torch.ones(2), torch.tensor(y), **arguments)
    assert str(caught.value).startswith(text)


def test_align_is_the_cosine() -> None:
    assert align(torch.tensor([1.0, 0.0]), torch.tensor([0, 1])) == 0.0
    assert align(torch.tensor([1.0, -2.0]), torch.tensor([-2, 4])) == pytest.approx(-1.0)
    with pytest.raises(GraphError, match="must not be zero everywhere"):
        align(torch.zeros(2), torch.ones(2))
