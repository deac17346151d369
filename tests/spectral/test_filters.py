import pytest
import torch

from herofilter.errors import ConfigError
from herofilter.spectral import (
    ACTIVATIONS,
    FILTERS,
    STARTS,
    AdaptiveFilter,
    BandFilter,
    BandpassFilter,
    GCNFilter,
    HeatFilter,
    PPRFilter,
    SharedFilter,
    eigen_decompose,
    make_filter,
)
from herofilter.spectral.chebyshev import chebyshev_nodes
from herofilter.spectral.filters import BANDS
from tests.spectral.graphs import random_matrix

# both ends, zero, a repeated eigenvalue
EIGENVALUES = torch.tensor([-1.0, -0.6, -0.1, 0.0, 0.3, 0.3, 0.8, 1.0], dtype=torch.float64)
NOTHING = torch.empty(0)


def every_filter():
    for kind in FILTERS:
        yield make_filter(kind, order=5)
    for kind in (AdaptiveFilter, SharedFilter):
        for activation in ACTIVATIONS:
            for start in STARTS:
                yield kind(4, activation, start)
    yield GCNFilter("paper")


@pytest.fixture(params=list(every_filter()), ids=str)
def filter_(request):
    return request.param


def moved_weights(filter_, eigenvalues=EIGENVALUES):
    start = filter_.initial_weights(eigenvalues)
    noise = torch.rand(start.shape, generator=torch.Generator().manual_seed(0), dtype=start.dtype)
    return start + 0.3 * noise


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_response_is_finite_and_keeps_shape_and_type(filter_, dtype):
    eigenvalues = EIGENVALUES.to(dtype)
    weights = filter_.initial_weights(eigenvalues)
    response = filter_.response(eigenvalues, weights)
    assert weights.dtype == response.dtype == dtype
    assert response.shape == eigenvalues.shape
    assert bool(response.isfinite().all())
    assert FILTERS[filter_.name] is type(filter_)


def test_response_on_agrees_at_the_eigenvalues(filter_):
    weights = filter_.initial_weights(EIGENVALUES)
    torch.testing.assert_close(
        filter_.response_on(EIGENVALUES, EIGENVALUES, weights),
        filter_.response(EIGENVALUES, weights),
    )
    grid = torch.linspace(-1, 1, 50, dtype=torch.float64)
    assert bool(filter_.response_on(grid, EIGENVALUES, moved_weights(filter_)).isfinite().all())


@pytest.mark.parametrize(
    "filter_", [f for f in every_filter() if f.initial_weights(EIGENVALUES).numel()], ids=str
)
def test_gradient_equals_finite_differences(filter_):
    weights = moved_weights(filter_)
    if getattr(filter_, "activation", "") == "relu":
        # gradcheck can't step across the kink at zero
        weights = torch.where(weights.abs() < 1e-3, 0.5, weights)
    inner = EIGENVALUES[EIGENVALUES != 0]
    weights = weights[..., EIGENVALUES != 0] if weights.dim() == 2 else weights
    weights = weights.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda w: filter_.response(inner, w), (weights,))


def test_adaptive_filter_equals_the_formula():
    filter_ = AdaptiveFilter(order=6)
    weights = moved_weights(filter_)
    expected = sum(torch.tanh(weights[k - 1] * EIGENVALUES**k) for k in range(1, 7))
    torch.testing.assert_close(filter_.response(EIGENVALUES, weights), expected)


def test_adaptive_filter_of_one_plain_term_is_gcn():
    line = AdaptiveFilter(order=1, activation="identity")
    ones = torch.ones_like(line.initial_weights(EIGENVALUES))
    torch.testing.assert_close(
        line.response(EIGENVALUES, ones), GCNFilter().response(EIGENVALUES, NOTHING)
    )


def test_shared_filter_is_the_adaptive_one_with_equal_weights():
    shared, adaptive = SharedFilter(order=7), AdaptiveFilter(order=7)
    weights = moved_weights(shared)
    repeated = weights[:, None].expand(-1, EIGENVALUES.numel())
    torch.testing.assert_close(
        shared.response(EIGENVALUES, weights), adaptive.response(EIGENVALUES, repeated)
    )
    grid = torch.linspace(-1, 1, 33, dtype=torch.float64)
    torch.testing.assert_close(
        shared.response_on(grid, EIGENVALUES, weights),
        adaptive.response_on(grid, EIGENVALUES, repeated),
    )


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("low", [0.5, 0.25, 0.125]),
        ("hop1", [0.5, 0, 0]),
        ("hop2", [0, 0.5, 0]),
        ("high", [-0.5, 0.25, -0.125]),
    ],
)
def test_starting_values(start, expected):
    assert SharedFilter(3, start=start).initial_weights(EIGENVALUES).tolist() == expected
    adaptive = AdaptiveFilter(3, start=start).initial_weights(EIGENVALUES)
    assert adaptive.T.tolist() == [expected] * EIGENVALUES.numel()


def singular_values():
    return torch.tensor([1e-6, 0.1, 0.4, 0.4, 1.0], dtype=torch.float64)


def test_parts_add_up_to_the_response(filter_):
    values = singular_values()
    weights = moved_weights(filter_, values)
    even, odd = filter_.parts(values, weights)
    assert even.shape == odd.shape == values.shape
    torch.testing.assert_close(even + odd, filter_.response(values, weights))
    if getattr(filter_, "activation", "") != "relu":
        torch.testing.assert_close(even - odd, filter_.response(-values, weights))


@pytest.mark.parametrize("kind", [AdaptiveFilter, SharedFilter])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_parts_of_a_polynomial_are_its_even_and_its_odd_powers(kind, activation):
    filter_ = kind(5, activation)
    values = singular_values()
    weights = moved_weights(filter_, values) - 0.2
    terms = [ACTIVATIONS[activation](weights[k - 1] * values**k) for k in range(1, 6)]
    even, odd = filter_.parts(values, weights)
    torch.testing.assert_close(even, terms[1] + terms[3])
    torch.testing.assert_close(odd, terms[0] + terms[2] + terms[4])


def test_one_power_has_no_even_part():
    even, odd = SharedFilter(1, "identity").parts(singular_values(), torch.ones(1).double())
    assert even.tolist() == [0.0] * 5
    assert torch.equal(odd, singular_values())


@pytest.mark.parametrize("kind", [AdaptiveFilter, SharedFilter])
def test_parts_of_no_singular_values_are_empty(kind):
    nothing = torch.empty(0)
    even, odd = kind(3).parts(nothing, kind(3).initial_weights(nothing))
    assert even.shape == odd.shape == (0,)


def test_interpolation_averages_equals_and_is_linear_between():
    line = AdaptiveFilter(order=1, activation="identity")
    eigenvalues = torch.tensor([-0.5, 0.5, 0.5 + 1e-8], dtype=torch.float64)
    weights = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64)
    grid = torch.tensor([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0], dtype=torch.float64)
    known = torch.tensor([1.0, 1.0, 2.0, 2.5, 3.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(line.response_on(grid, eigenvalues, weights), known * grid)


def test_interpolation_from_a_single_eigenvalue_is_constant():
    line = AdaptiveFilter(order=1, activation="identity")
    grid = torch.tensor([-1.0, 0.2, 1.0])
    on = line.response_on(grid, torch.tensor([0.2]), torch.tensor([[3.0]]))
    torch.testing.assert_close(on, 3 * grid)


@pytest.mark.parametrize("kind", [AdaptiveFilter, SharedFilter])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("scale", [1.0, 1e30])
def test_two_hundred_terms_are_safe(kind, activation, start, scale):
    eigenvalues = torch.cat([torch.linspace(-1, 1, 101), torch.tensor([1e-30, -1e-44])])
    filter_ = kind(200, activation, start)
    weights = (filter_.initial_weights(eigenvalues) * scale).requires_grad_()
    response = filter_.response(eigenvalues, weights)
    response.sum().backward()
    assert bool(response.isfinite().all())
    assert bool(weights.grad.isfinite().all())


def test_filters_on_a_graph_are_functions_of_its_matrix():
    matrix = random_matrix(20, 30)
    dense = torch.from_numpy(matrix.toarray())
    basis = eigen_decompose(matrix)
    values, vectors = basis.eigenvalues.double(), basis.vectors.double()
    eye = torch.eye(20, dtype=torch.float64)
    expected = {
        PPRFilter(0.7): 0.3 * torch.linalg.inv(eye - 0.7 * dense),
        HeatFilter(1.5): torch.linalg.matrix_exp(-1.5 * (eye - dense)),
        GCNFilter(): dense,
        GCNFilter("paper"): torch.linalg.inv(eye + (eye - dense)),
    }
    for filter_, function in expected.items():
        response = filter_.response(values, filter_.initial_weights(values))
        torch.testing.assert_close((vectors * response) @ vectors.T, function, atol=1e-5, rtol=0)


def test_the_five_bands_cover_every_frequency_once():
    # bounds, points beside them, and ends that rounding has moved
    bounds = torch.tensor([0.0, 0.4, 0.8, 1.2, 1.6, 2.0])
    frequencies = torch.cat([bounds, bounds[1:-1] - 0.01, torch.tensor([-1e-6, 2 + 1e-6])])
    total = torch.zeros_like(frequencies)
    for start, (low, high) in BANDS.items():
        band = make_filter("band", start=start)
        assert (band.low, band.high) == (low, high)
        response = band.response(1 - frequencies, band.initial_weights(frequencies))
        assert set(response.round(decimals=4).tolist()) <= {0.0, 1.0}
        total += response
    assert torch.allclose(total, torch.ones_like(total), atol=1e-4)


def test_a_band_learns_inside_and_nowhere_else():
    band = BandFilter(order=4, low=0.8, high=1.2)
    weights = torch.tensor([1.0, -2.0, 3.0, 0.5, 0.0], requires_grad=True)
    eigenvalues = torch.linspace(-1, 1, 21)
    band.response(eigenvalues, weights).sum().backward()
    assert weights.grad.abs().sum() > 0
    outside = (1 - eigenvalues - 1).abs() > 0.21
    assert not band.response(eigenvalues, weights)[outside].any()
    nodes = 1 - (1.0 + 0.2 * chebyshev_nodes(4).float())
    assert torch.allclose(band.response(nodes, weights), weights, atol=1e-4)


def test_bandpass_is_one_at_its_centre_and_falls_by_its_width():
    band = BandpassFilter(centre=0.5, width=0.25)
    grid = torch.tensor([0.5, 0.25, 0.75], dtype=torch.float64)
    response = band.response(grid, band.initial_weights(grid))
    fallen = torch.tensor(-0.5, dtype=torch.float64).exp()
    torch.testing.assert_close(response, torch.stack([torch.ones_like(fallen), fallen, fallen]))


@pytest.mark.parametrize("weight", [-1e4, -50.0, 50.0, 1e4])
@pytest.mark.parametrize("filter_", [HeatFilter(), BandpassFilter()], ids=str)
def test_runaway_weights_give_no_nan(filter_, weight):
    grid = torch.linspace(-1, 1, 21)
    weights = filter_.initial_weights(grid)
    weights[-1] = weight
    weights.requires_grad_()
    response = filter_.response(grid, weights)
    response.sum().backward()
    assert bool(response.isfinite().all())
    assert bool(weights.grad.isfinite().all())


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations_are_zero_at_zero_and_rise(name):
    values = ACTIVATIONS[name](torch.tensor([-2.0, 0.0, 1.0, 2.0]))
    assert values[1] == 0
    assert bool((values.diff() >= 0).all())
    assert values[3] > values[2] > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_filter("adaptiv"), r"filter must be one of .* \(did you mean 'adaptive'\?\)"),
        (lambda: AdaptiveFilter(0), r"order must be between 1 and 200 \(got 0\)"),
        (lambda: SharedFilter(201), r"order must be between 1 and 200 \(got 201\)"),
        (lambda: AdaptiveFilter(activation="tan"), "did you mean 'tanh'"),
        (lambda: AdaptiveFilter(start="hop"), "did you mean 'hop2'"),
        (lambda: AdaptiveFilter(1, start="hop2"), "needs an order of at least 2"),
        (lambda: PPRFilter(1.0), r"c must lie strictly between 0 and 1 \(got 1.0\)"),
        (lambda: HeatFilter(0.0), "t must be between 0 and"),
        (lambda: BandpassFilter(centre=3), "centre must be between 0 and 2"),
        (lambda: BandpassFilter(width=0), "width must be positive"),
        (lambda: BandFilter(low=1.2, high=0.8), "a band must begin before it ends"),
        (lambda: BandFilter(order=0), "order must be between 1 and 200"),
        (lambda: make_filter("band", start="hop2"), "the start of a band filter must be one of"),
        (lambda: GCNFilter("papr"), "did you mean 'paper'"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_registry_passes_settings_on():
    assert make_filter("shared", order=3, activation="relu", start="high") == SharedFilter(
        3, "relu", "high"
    )
    assert make_filter("ppr", c=0.9) == PPRFilter(0.9)
