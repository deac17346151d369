"""BernNet against Bernstein's formula in dense matrices."""

import math

import pytest
import torch
from scipy.interpolate import BPoly

from herofilter.baselines.bernnet import BernNet
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


def varied(hops: int) -> BernNet:
    model = BernNet(MLP(4, 8, 3), hops=hops).eval()
    vary(model.theta)
    return model


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("hops", [1, 2, 10, 20])
def test_ones_are_the_identity(name: str, hops: int) -> None:
    model, data = build("bernnet", AWKWARD[name](), hops=hops)
    assert model.theta.tolist() == [1.0] * (hops + 1)
    torch.testing.assert_close(model(data), model.mlp(data))
    torch.testing.assert_close(model.response(torch.linspace(0, 2, 41)), torch.ones(41))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("hops", [1, 4, 10])
def test_equals_the_formula_of_the_paper(name: str, hops: int) -> None:
    data, model = undirected(name), varied(hops)
    matrix, power = laplacian(data), torch.linalg.matrix_power
    rest = 2 * torch.eye(10) - matrix
    total = sum(
        weight.relu() * math.comb(hops, k) / 2**hops * power(rest, hops - k) @ power(matrix, k)
        for k, weight in enumerate(model.theta)
    )
    assert_same(model(data), (total @ model.mlp(data).double()).float(), model)


@pytest.mark.parametrize("name", GRAPHS)
def test_response_is_what_the_propagation_does(name: str) -> None:
    data, model = undirected(name), varied(10)
    assert_same(model(data), filtered(model, data, laplacian(data)).float(), model)


def test_response_is_the_polynomial_of_scipy() -> None:
    model = varied(7)
    expected = BPoly(model.theta.detach().relu().double().numpy()[:, None], [0, 2])
    grid = torch.linspace(0, 2, 31, dtype=torch.float64)
    torch.testing.assert_close(model.response(grid), torch.from_numpy(expected(grid.numpy())))


def test_the_basis_is_no_part_of_the_state() -> None:
    assert "basis" not in varied(3).state_dict()


def test_reset_restores_the_start() -> None:
    model = varied(3)
    model.reset_parameters()
    assert model.theta.tolist() == [1.0] * 4


def test_options_reach_the_model() -> None:
    assert build("bernnet", AWKWARD["plain"](), hops=3)[0].theta.numel() == 4
    assert build("bernnet", AWKWARD["plain"]())[0].theta.numel() == 11
