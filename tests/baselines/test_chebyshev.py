"""Chebyshev's basis against NumPy's."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

from herofilter.baselines.chebyshev import shifted_laplacian
from herofilter.spectral.chebyshev import chebyshev_coefficients, chebyshev_nodes, chebyshev_sum
from tests.awkward import AWKWARD
from tests.baselines.oracles import laplacian

ORDERS = [0, 1, 2, 5, 10]


@pytest.mark.parametrize("order", ORDERS)
def test_sum_with_one_product_per_order(order: int) -> None:
    grid = torch.linspace(-1, 1, 23, dtype=torch.float64)
    weights = torch.randn(order + 1, generator=torch.Generator().manual_seed(0)).double()
    asked = []

    def step(value: Tensor) -> Tensor:
        asked.append(value)
        return grid * value

    found = chebyshev_sum(step, [weight.expand_as(grid) for weight in weights])
    np.testing.assert_allclose(found, chebyshev.chebval(grid.numpy(), weights.numpy()), atol=1e-12)
    assert len(asked) == order


@pytest.mark.parametrize("order", ORDERS)
def test_nodes_and_coefficients(order: int) -> None:
    nodes = chebyshev_nodes(order)
    np.testing.assert_allclose(nodes, chebyshev.chebpts1(order + 1), atol=1e-12)
    values = torch.cos(3 * nodes) + nodes
    expected = chebyshev.chebinterpolate(lambda x: np.cos(3 * x) + x, order)
    np.testing.assert_allclose(chebyshev_coefficients(order) @ values, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["plain", "isolated_nodes", "self_loops", "weighted", "no_edges"])
def test_laplacian_without_its_diagonal(name: str) -> None:
    data = AWKWARD[name]()
    expected = laplacian(data) - torch.eye(10)
    torch.testing.assert_close(shifted_laplacian(data)(torch.eye(10)), expected.float())
