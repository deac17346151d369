import math

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.errors import GraphError
from herofilter.theory import (
    ErrorBound,
    GraphSpectrum,
    error_bound,
    graph_error_bound,
    graph_spectrum,
)
from herofilter.theory.error_bound import CLAMPED_CONSTANT, MARGIN_CONSTANT, PRINTED_CONSTANT

PATH = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])


@st.composite
def cases(draw: st.DrawFn, width: float) -> tuple[GraphSpectrum, Tensor, Tensor, Tensor, Tensor]:
    """Orthonormal vectors, g in [0, 1], scores, labels, ĥ in (0, 1]."""
    n = draw(st.integers(2, 8))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    vectors, _ = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))
    spectrum = GraphSpectrum(torch.linspace(-1, 1, n, dtype=torch.float64), vectors)
    drawn = torch.rand(n, 5, dtype=torch.float64, generator=generator)
    scores, y = width * (drawn[:, :2] - 0.5), (drawn[:, 2] > 0.5).long()
    return spectrum, drawn[:, 3], scores, y, 0.01 + 0.99 * drawn[:, 4]


def slow(
    spectrum: GraphSpectrum, g: Tensor, scores: Tensor, y: Tensor, h_hat: Tensor
) -> dict[str, float]:
    """Return both sides of Theorem 1 in loops, as the paper writes them."""
    n, vectors = y.numel(), spectrum.vectors
    filtered = vectors @ g.diag() @ vectors.t() @ scores
    error = 0.0
    for (first, second), label in zip(filtered.tolist(), y.tolist(), strict=True):
        total = math.exp(first) + math.exp(second)
        error += (math.exp(first) / total - (label == 0)) ** 2
        error += (math.exp(second) / total - (label == 1)) ** 2
    delta, eta, smallest, top, mass, weight = [], [], math.inf, 0.0, 0.0, 0.0
    for i in range(n):
        u = vectors[:, i]
        delta.append(float(sum(u[j] * ((y[j] == 1) * 1.0 - (y[j] == 0) * 1.0) for j in range(n))))
        eta.append(float(sum(u[j] * (scores[j, 1] - scores[j, 0]) for j in range(n))))
        limit = 1 / abs(float(g[i]) * delta[i])
        clamped = min(max(eta[i], -limit), limit)
        smallest = min(smallest, clamped * delta[i])
        top += math.log(abs(float(h_hat[i])))
        mass += float(g[i]) * abs(float(h_hat[i]))
        weight += float(g[i])
    below = 2 * n * math.log(mass) - 2 * n * math.log(weight)
    constant = 2 * (0.25 + 217 / 2304 + 1 / (1 + math.e) ** 2)
    return {"error": error / n, "bound": constant - smallest * top / below}


@given(cases(width=8.0))
@settings(max_examples=100, deadline=None)
def test_both_sides_equal_the_slow_loops(case: tuple) -> None:
    found = error_bound(*case)
    assume(bool(found.active.all()))
    expected = slow(*case)
    assert found.error == pytest.approx(expected["error"])
    assert found.bound == pytest.approx(expected["bound"])


@given(cases(width=0.6))
@settings(max_examples=400, deadline=None)
def test_the_printed_bound_holds_where_every_assumption_does(case: tuple) -> None:
    found = error_bound(*case)
    assume(found.assumptions_hold)
    assert found.printed_holds
    # and says less than a prediction of one half everywhere, whose error is 1/2
    assert found.bound >= PRINTED_CONSTANT > 0.5


@given(cases(width=3.0))
@settings(max_examples=400, deadline=None)
def test_the_corrected_bound_holds_for_margins_up_to_one(case: tuple) -> None:
    found = error_bound(*case)
    assume(float(found.margins.max()) <= 1)
    assert found.corrected_holds


@given(cases(width=40.0))
@settings(max_examples=300, deadline=None)
def test_the_clamped_bound_always_holds(case: tuple) -> None:
    found = error_bound(*case)
    assert found.error <= found.clamped_bound


def test_constants_are_the_least_upper_bounds() -> None:
    margin = torch.linspace(-60, 60, 240_001, dtype=torch.float64)
    loss = torch.sigmoid(-margin).square()
    gap = 2 * (loss + margin.clamp(-1, 1) / 4)
    assert float(gap.max()) == pytest.approx(CLAMPED_CONSTANT)
    low = margin <= 1 + 1e-12
    gap = 2 * (loss + margin / 4)[low]
    assert float(gap.max()) == pytest.approx(MARGIN_CONSTANT)
    assert MARGIN_CONSTANT < PRINTED_CONSTANT < CLAMPED_CONSTANT


def labels_as_scores(y: Tensor, size: float) -> Tensor:
    sign = size * (y.double() - 0.5)
    return torch.stack([-sign, sign], dim=1)


def test_the_printed_bound_is_negative_on_a_path() -> None:
    data = Data(edge_index=PATH, y=torch.tensor([0, 0, 1, 0, 0]), num_nodes=5)
    found = graph_error_bound(data, lambda v: (1 + v) / 2, labels_as_scores(data.y, 1.0))
    assert found.bound < 0 < found.error < found.corrected_bound
    assert not found.printed_holds
    assert found.failed == ("min η̃ᵢ δᵢ ≤ 0 (got 1)",)


def test_confident_mistakes_exceed_the_printed_constant() -> None:
    spectrum = GraphSpectrum(torch.zeros(1).double(), torch.eye(1).double())
    wrong = torch.tensor([[0.0, 50.0]])
    found = error_bound(spectrum, torch.ones(1), wrong, torch.tensor([0]), torch.tensor([0.5]))
    assert found.error == pytest.approx(2.0)
    assert found.clamped_bound == pytest.approx(2.0)
    assert found.bound == pytest.approx(PRINTED_CONSTANT + 0.5)
    assert not found.printed_holds
    assert found.corrected_holds
    assert found.failed == ("every g(λᵢ) ηᵢ δᵢ ≥ -1 (got at least -50)",)


def test_index_sets_follow_the_definition() -> None:
    # labels and scores of one sign everywhere have one coefficient in the basis of a pair
    data = Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([1, 1]), num_nodes=2)
    found = graph_error_bound(data, torch.ones(2), torch.tensor([[0.0, 0.2], [0.0, 0.2]]))
    assert found.support.tolist() == found.active.tolist() == [False, True]
    off = graph_error_bound(data, torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 0.2], [0.0, 0.2]]))
    assert off.support.tolist() == [False, True]
    assert off.active.tolist() == [False, False]
    assert off.min_product == 0.0
    assert off.bound == pytest.approx(PRINTED_CONSTANT)
    same = graph_error_bound(data, torch.ones(2), torch.zeros(2, 2))
    assert same.mean_response is None
    assert same.error == pytest.approx(0.5)
    assert "some index with δᵢ and ηᵢ nonzero (got none)" in same.failed


def test_the_clamp_keeps_products_within_one() -> None:
    data = csbm(num_nodes=40, num_classes=2)
    scores = labels_as_scores(data.y, 20.0)
    g = (1 + graph_spectrum(data).eigenvalues) / 2
    found = graph_error_bound(data, g, scores)
    before, after = (g * eta * found.delta for eta in (found.eta, found.eta_clamped))
    assert float(before.abs().max()) > 2
    torch.testing.assert_close(after, before.clamp(-1, 1))


def test_the_chain_is_proposition_1_on_the_support() -> None:
    found = graph_error_bound(
        csbm(num_nodes=40, num_classes=2, heterophily=0.9),
        lambda v: (1 - v) / 2,
        torch.randn(40, 2, generator=torch.Generator().manual_seed(0)) / 10,
    )
    assert isinstance(found, ErrorBound)
    assert found.mean_response is not None
    total = found.mean_response.bound * int(found.support.sum())
    assert found.bound == pytest.approx(PRINTED_CONSTANT - found.min_product * total / 80)


@pytest.mark.parametrize(
    ("y", "scores", "text"),
    [
        (
            torch.tensor([0, 2]),
            torch.zeros(2, 2),
            "y must hold 0 or 1 for each of the 2 nodes (got shape [2], values 0 to 2); "
            "Theorem 1 is about two classes",
        ),
        (
            torch.tensor([0, 1]),
            torch.zeros(2, 3),
            "scores must have two columns, one per class, and 2 rows (got shape [2, 3]); "
            "map features to two logits first",
        ),
    ],
)
def test_other_tasks_are_refused(y: Tensor, scores: Tensor, text: str) -> None:
    data = Data(edge_index=torch.tensor([[0], [1]]), y=y, num_nodes=2)
    with pytest.raises(GraphError) as caught:
        graph_error_bound(data, torch.ones(2), scores)
    assert str(caught.value) == text
