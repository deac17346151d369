"""ChebNetII: a filter that passes through its own nodes."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev
from scipy.interpolate import BarycentricInterpolator

from herofilter.baselines.chebnetii import ChebNetII
from herofilter.baselines.mlp import MLP
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD
from tests.baselines.oracles import (
    GRAPHS,
    assert_same,
    build,
    filtered,
    laplacian,
    undirected,
    vary,
)

HOPS = [1, 2, 5, 10]


def varied(hops: int) -> ChebNetII:
    model = ChebNetII(MLP(4, 8, 3), hops=hops).eval()
    vary(model.gamma)
    return model


@pytest.mark.parametrize("hops", HOPS)
def test_passes_through_its_own_nodes(hops: int) -> None:
    model = varied(hops)
    nodes = 1 + torch.from_numpy(chebyshev.chebpts1(hops + 1)).float()
    torch.testing.assert_close(model.response(nodes), model.gamma.relu())


@pytest.mark.parametrize("hops", HOPS)
def test_is_the_only_polynomial_that_does(hops: int) -> None:
    model = varied(hops)
    nodes = 1 + chebyshev.chebpts1(hops + 1)
    line = BarycentricInterpolator(nodes, model.gamma.detach().relu().double().numpy())
    grid = torch.linspace(0, 2, 31, dtype=torch.float64)
    np.testing.assert_allclose(model.response(grid).detach(), line(grid.numpy()), atol=1e-5)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("hops", HOPS)
def test_response_is_what_the_propagation_does(name: str, hops: int) -> None:
    data, model = undirected(name), varied(hops)
    assert_same(model(data), filtered(model, data, laplacian(data)).float(), model)


@pytest.mark.parametrize("name", GRAPHS)
def test_identity_start(name: str) -> None:
    data = AWKWARD[name]()
    model = ChebNetII(MLP(4, 8, 3)).eval()
    torch.testing.assert_close(model(data), model.mlp(data))


@pytest.mark.parametrize("hops", HOPS)
def test_low_start(hops: int) -> None:
    model = ChebNetII(MLP(4, 8, 3), hops=hops, start="low").eval()
    grid = torch.linspace(0, 2, 21)
    torch.testing.assert_close(model.response(grid), 1 - grid / 2)
    vary(model.gamma)
    model.reset_parameters()
    torch.testing.assert_close(model.response(grid), 1 - grid / 2)


def test_unknown_start() -> None:
    with pytest.raises(ConfigError) as caught:
        ChebNetII(MLP(4, 8, 3), start="lo")
    assert str(caught.value) == (
        "start must be one of identity, low (got 'lo') (did you mean 'low'?)"
    )


def test_options_reach_the_model() -> None:
    assert build("chebnetii", AWKWARD["plain"](), hops=3)[0].gamma.numel() == 4
    assert build("chebnetii", AWKWARD["plain"]())[0].gamma.numel() == 11
