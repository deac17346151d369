import math

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from torch import Tensor

from herofilter.data import csbm
from herofilter.errors import GraphError
from herofilter.theory import (
    graph_mean_response_bound,
    graph_spectrum,
    heterophily_spectrum,
    mean_response_bound,
)


def vectors(low: float, high: float, most: float = 1.0) -> st.SearchStrategy[tuple[Tensor, Tensor]]:
    """Return pairs of g in [0, most] and ĥ of either sign with a modulus from low to high."""
    size = st.floats(low, high) | st.floats(low, high).map(lambda value: -value)
    pairs = st.lists(st.tuples(st.floats(0, most), size), min_size=1, max_size=12)
    return pairs.map(lambda rows: tuple(torch.tensor(rows, dtype=torch.float64).t().contiguous()))


@given(vectors(0.001, 0.99))
@settings(max_examples=300, deadline=None)
def test_both_sides_equal_the_formula(pair: tuple[Tensor, Tensor]) -> None:
    g, h = (values.tolist() for values in pair)
    assume(sum(g) > 1e-6)
    top = sum(math.log(abs(value)) for value in h)
    mass = sum(a * abs(b) for a, b in zip(g, h, strict=True))
    found = mean_response_bound(*pair)
    assert found.mean_response == pytest.approx(sum(g) / len(g))
    assert found.bound == pytest.approx(top / (len(g) * (math.log(mass) - math.log(sum(g)))))


@given(vectors(0.001, 1.0))
@settings(max_examples=500, deadline=None)
def test_the_corrected_inequality_holds_whenever_its_assumptions_do(
    pair: tuple[Tensor, Tensor],
) -> None:
    found = mean_response_bound(*pair)
    assume(found.assumptions_hold)
    assert found.corrected_holds


@given(vectors(0.001, 0.99, most=0.99))
@settings(max_examples=500, deadline=None)
def test_the_printed_inequality_fails_away_from_equality(pair: tuple[Tensor, Tensor]) -> None:
    found = mean_response_bound(*pair)
    assume(found.assumptions_hold)
    assert not found.printed_holds


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.floats(0.01, 0.99))
@settings(deadline=None)
def test_equality_where_the_proof_says_so(kept: list[bool], level: float) -> None:
    g = torch.tensor(kept, dtype=torch.float64)
    assume(bool(g.any()))
    found = mean_response_bound(g, torch.where(g > 0, level, 1.0))
    assert found.assumptions_hold
    assert found.printed_holds
    assert found.corrected_holds


@given(vectors(0.001, 50.0))
@settings(max_examples=300, deadline=None)
def test_rescaling_makes_any_heterophily_admissible(pair: tuple[Tensor, Tensor]) -> None:
    found = mean_response_bound(*pair, rescale=True)
    assert "every |ĥᵢ| ≤ 1" not in " ".join(found.failed)
    assume(found.assumptions_hold)
    assert found.corrected_holds


def test_above_one_the_corrected_inequality_may_fail_and_the_result_says_why() -> None:
    found = mean_response_bound(torch.tensor([0.1, 1.0]), torch.tensor([5.0, 0.5]))
    assert not found.corrected_holds
    assert found.failed == ("every |ĥᵢ| ≤ 1 (got at most 5)",)


@pytest.mark.parametrize(
    ("g", "h", "failed"),
    [
        ([-0.5, 1.5], [0.5, 0.5], ["every g(λᵢ) in [0, 1] (got -0.5 to 1.5)"]),
        ([0.5, 0.5], [0.5, 0.0], ["every ĥᵢ nonzero (got 1 zeros)"]),
        ([1.0, 0.0], [1.0, 0.5], ["a negative logarithm in the denominator (got 0)"]),
        (
            [0.0, 0.0],
            [0.5, 0.5],
            ["some g(λᵢ) > 0 (got 0 to 0)", "a negative logarithm in the denominator (got nan)"],
        ),
    ],
)
def test_each_assumption_is_reported(g: list[float], h: list[float], failed: list[str]) -> None:
    assert list(mean_response_bound(torch.tensor(g), torch.tensor(h)).failed) == failed


def test_a_zero_coefficient_leaves_a_bound_that_says_nothing() -> None:
    found = mean_response_bound(torch.tensor([0.5, 0.5]), torch.tensor([0.5, 0.0]))
    assert found.bound == math.inf
    assert found.corrected_holds


def test_an_undefined_bound_holds_in_neither_direction() -> None:
    found = mean_response_bound(torch.zeros(2), torch.tensor([0.5, 0.5]))
    assert math.isnan(found.bound)
    assert not found.printed_holds
    assert not found.corrected_holds


@pytest.mark.parametrize("heterophily", [0.3, 0.5, 0.9])
def test_on_graphs(heterophily: float) -> None:
    data = csbm(num_nodes=80, heterophily=heterophily)
    spectrum = graph_spectrum(data)
    h_hat = heterophily_spectrum(data, spectrum).h_hat
    for rescale in (False, True):
        found = graph_mean_response_bound(data, lambda v: (1 + v) / 2, rescale=rescale)
        same = mean_response_bound((1 + spectrum.eigenvalues) / 2, h_hat, rescale=rescale)
        assert found == same
        assert found.assumptions_hold == rescale
    assert found.corrected_holds
    assert not found.printed_holds


def test_vectors_of_two_graphs_are_refused() -> None:
    with pytest.raises(GraphError) as caught:
        mean_response_bound(torch.zeros(3), torch.zeros(2))
    assert str(caught.value) == (
        "response and h_hat must have one value per eigenvalue (got shapes [3] and [2]); "
        "take both of one graph"
    )
