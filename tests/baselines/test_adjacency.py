"""The normalised adjacency against PyG's, and the gradient of the product with it."""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_dense_adj

from herofilter.baselines.adjacency import propagation
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD

GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "duplicates", "weighted"]


def matrix(name: str, norm: str, loops: bool) -> torch.Tensor:
    data = AWKWARD[name]()
    return propagation(data, norm, loops)(torch.eye(int(data.num_nodes or 0)))


@pytest.mark.parametrize("name", GRAPHS)
def test_symmetric_with_loops_is_that_of_pyg(name: str) -> None:
    data = AWKWARD[name]()
    index, value = gcn_norm(data.edge_index, data.get("edge_weight"), 10, dtype=torch.float32)
    expected = to_dense_adj(index, edge_attr=value, max_num_nodes=10)[0].t()
    torch.testing.assert_close(matrix(name, "sym", True), expected)


@pytest.mark.parametrize("name", GRAPHS)
def test_without_loops(name: str) -> None:
    plain, mean, sym = (matrix(name, norm, False) for norm in ("none", "row", "sym"))
    assert not plain.diagonal().any()
    degree = plain.sum(1)
    sums = mean.sum(1)
    torch.testing.assert_close(sums, (degree > 0).float())
    torch.testing.assert_close(mean * degree.unsqueeze(1), plain)
    scale = degree.clamp(min=1e-9).rsqrt() * (degree > 0)
    torch.testing.assert_close(sym, scale.unsqueeze(1) * plain * scale)


def test_the_gradient_is_a_product_with_the_transpose() -> None:
    data = AWKWARD["directed"]()
    propagate = propagation(data, "row", loops=True)
    hidden = torch.randn(10, 3, requires_grad=True, generator=torch.Generator().manual_seed(0))
    propagate(hidden).square().sum().backward()
    dense = matrix("directed", "row", True)
    torch.testing.assert_close(hidden.grad, 2 * dense.t() @ (dense @ hidden.detach()))


def test_unknown_norm() -> None:
    with pytest.raises(ConfigError, match="norm must be one of sym, row, none"):
        propagation(AWKWARD["plain"](), "rows")
