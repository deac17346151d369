"""GPRGNN: APPNP at its start, any polynomial afterwards."""

import pytest
import torch

from herofilter.baselines.gprgnn import GPRGNN
from herofilter.baselines.mlp import MLP
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


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("hops", [1, 4, 10])
def test_starts_as_appnp(name: str, hops: int) -> None:
    model, data = build("gprgnn", AWKWARD[name](), hops=hops, alpha=0.3)
    other, _ = build("appnp", AWKWARD[name](), hops=hops, alpha=0.3)
    torch.testing.assert_close(model(data), other(data))
    assert float(model.gamma.detach().sum()) == pytest.approx(1)


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_sum_of_powers(name: str) -> None:
    data = undirected(name)
    model = GPRGNN(MLP(4, 8, 3), hops=4).eval()
    vary(model.gamma)
    adjacency = (torch.eye(10) - laplacian(data, loops=True)).float()
    hops = [torch.linalg.matrix_power(adjacency, k) @ model.mlp(data) for k in range(5)]
    expected = sum(weight * hop for weight, hop in zip(model.gamma, hops, strict=True))
    assert_same(model(data), expected, model)


@pytest.mark.parametrize("name", GRAPHS)
def test_response_is_what_the_propagation_does(name: str) -> None:
    data = undirected(name)
    model = GPRGNN(MLP(4, 8, 3), hops=6).eval()
    vary(model.gamma)
    expected = filtered(model, data, laplacian(data, loops=True))
    assert_same(model(data), expected.float(), model)


def test_reset_restores_the_start() -> None:
    model = GPRGNN(MLP(4, 8, 3), hops=3, alpha=0.5)
    vary(model.gamma)
    model.reset_parameters()
    assert model.gamma.tolist() == [0.5, 0.25, 0.125, 0.125]


def test_options_reach_the_model() -> None:
    model, _ = build("gprgnn", AWKWARD["plain"](), hops=3, alpha=0.4)
    assert (model.gamma.numel(), model.alpha) == (4, 0.4)
    default, _ = build("gprgnn", AWKWARD["plain"]())
    assert (default.gamma.numel(), default.alpha) == (11, 0.1)
