"""APPNP against PyG's propagation."""

import pytest
import torch

from herofilter.baselines.appnp import APPNP
from herofilter.baselines.mlp import MLP
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_propagation_of_pyg(name: str) -> None:
    data = AWKWARD[name]()
    model = APPNP(MLP(4, 8, 3), hops=4, alpha=0.3).eval()
    expected = model.prop(model.mlp(data), data.edge_index, data.get("edge_weight"))
    assert_same(model(data), expected, model)


def test_many_steps_solve_for_personalised_pagerank() -> None:
    model, data = build("appnp", AWKWARD["plain"](), hops=200, alpha=0.2)
    matrix = torch.eye(10)[data.edge_index[0]].t() @ torch.eye(10)[data.edge_index[1]]
    matrix = matrix + torch.eye(10)
    scale = matrix.sum(1).rsqrt()
    adjacency = scale.unsqueeze(1) * matrix * scale
    expected = 0.2 * torch.linalg.solve(torch.eye(10) - 0.8 * adjacency, model.mlp(data))
    torch.testing.assert_close(model(data), expected)


def test_alpha_one_is_an_mlp() -> None:
    model, data = build("appnp", AWKWARD["plain"](), alpha=1.0)
    torch.testing.assert_close(model(data), model.mlp(data))


def test_options_reach_the_model() -> None:
    model, _ = build("appnp", AWKWARD["plain"](), hops=3, alpha=0.4)
    assert (model.prop.K, model.prop.alpha) == (3, 0.4)
    default, _ = build("appnp", AWKWARD["plain"]())
    assert (default.prop.K, default.prop.alpha) == (10, 0.1)
