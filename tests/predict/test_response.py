import json

import pytest
import torch

from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.patchers import FastPatcher, SpectralPatcher
from herofilter.predict import filter_response
from herofilter.spectral import FILTERS, AdaptiveFilter, GCNFilter, make_filter


def patcher(*names: str, num_eigenpairs: int | None = None) -> SpectralPatcher:
    filters = [make_filter(name) for name in names]
    return SpectralPatcher(csbm(num_nodes=60), 8, filters, num_eigenpairs=num_eigenpairs)


def test_every_filter_has_a_finite_curve_that_json_can_hold() -> None:
    found = filter_response(patcher(*FILTERS), points=21)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [curve["name"] for curve in found["filters"]] == [
        f"{name}-{number}" for number, name in enumerate(FILTERS)
    ]
    assert all(len(curve["response"]) == 21 for curve in found["filters"])
    assert found["grid"] == pytest.approx(torch.linspace(-1, 1, 21).tolist())


def test_a_known_filter_gives_its_formula() -> None:
    known = SpectralPatcher(csbm(num_nodes=60), 8, GCNFilter())
    found = filter_response(known, points=11)
    assert found["filters"][0]["response"] == pytest.approx(found["grid"])


def test_the_curve_is_that_of_the_weights_as_they_are_now() -> None:
    trained = SpectralPatcher(csbm(num_nodes=60), 8, AdaptiveFilter(order=1, activation="identity"))
    with torch.no_grad():
        trained.weights[0].fill_(-2.0)
    found = filter_response(trained, points=5)
    assert found["filters"][0]["response"] == pytest.approx([2.0, 1.0, 0.0, -1.0, -2.0])


def test_the_spectrum_is_a_density_over_all_kept_eigenvalues() -> None:
    for kept, expected in ((None, 60), (7, 7)):
        spectrum = filter_response(patcher("adaptive", num_eigenpairs=kept), bins=20)["spectrum"]
        assert spectrum["num_eigenvalues"] == expected
        assert len(spectrum["bounds"]) == 21
        assert (spectrum["bounds"][0], spectrum["bounds"][-1]) == (-1.0, 1.0)
        assert sum(spectrum["density"]) * 2 / 20 == pytest.approx(1.0)


def test_an_eigenvalue_beyond_one_by_rounding_is_counted() -> None:
    rounded = patcher("ppr")
    rounded.eigenvalues = torch.tensor([-1.0, 1.0 + 1e-6])
    assert filter_response(rounded, bins=2)["spectrum"]["density"] == [0.5, 0.5]


def test_patches_without_filters_are_refused() -> None:
    patches = FastPatcher(patch_size=4)(csbm(num_nodes=60))
    with pytest.raises(ConfigError) as caught:
        filter_response(patches)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "patcher must have filters to look at, as a SpectralPatcher does "
        "(got Patches); the fast patcher's filter is fixed"
    )


@pytest.mark.parametrize(("points", "bins"), [(1, 40), (201, 0)])
def test_too_few_points_or_bins(points: int, bins: int) -> None:
    with pytest.raises(ConfigError) as caught:
        filter_response(patcher("ppr"), points, bins)
    assert str(caught.value) == (
        f"points must be at least 2 and bins at least 1 (got {points} and {bins})"
    )
