"""Gradient gating: rates against a slow loop, gates of zero, PyG's layers inside."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.g2_gcn import G2GCN
from herofilter.baselines.neighbour_differences import neighbour_differences
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


def slow_differences(data: Data, hidden: Tensor, p: float, mean: bool = False) -> Tensor:
    """Return the sum or the mean of |h_v - h_u|^p over v's neighbours, edge by edge."""
    weights = data.get("edge_weight")
    total, count = 0 * hidden, torch.zeros(hidden.size(0), 1)
    for number, (source, target) in enumerate(data.edge_index.t().tolist()):
        if source != target:
            weight = 1.0 if weights is None else float(weights[number])
            gap = (hidden[target] - hidden[source]).abs() ** p
            total = total.index_add(0, torch.tensor([target]), weight * gap.unsqueeze(0))
            count[target] += weight
    return total / count.clamp(min=1e-9) if mean else total


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, 4.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_differences_equal_a_slow_loop(name: str, p: float, mean: bool) -> None:
    data = AWKWARD[name]()
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(10, 3, generator=generator, requires_grad=True)
    found = neighbour_differences(
        propagation(data, "row" if mean else "none", loops=False), hidden, p
    )
    expected = slow_differences(data, hidden, p, mean)
    torch.testing.assert_close(found, expected)
    upstream = torch.randn(10, 3, generator=generator)
    back = [torch.autograd.grad((out * upstream).sum(), hidden) for out in (found, expected)]
    torch.testing.assert_close(*back)


def test_differences_of_equal_vectors_are_not_below_zero() -> None:
    hidden = torch.full((10, 2), 1.1) * torch.tensor([1.0, 1e3])
    found = neighbour_differences(propagation(AWKWARD["plain"](), "none", loops=False), hidden)
    assert float(found.min()) >= 0
    assert float(found[:, 0].max()) < 1e-6


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_layers_of_pyg(name: str) -> None:
    model, data = build("g2-gcn", AWKWARD[name](), hops=3)
    weight = data.get("edge_weight")
    x = model.stem(data.x)
    for _ in range(3):
        hidden = model.gate_conv(x, data.edge_index, weight).relu()
        rate = slow_differences(data, hidden, 2.0).tanh()
        torch.testing.assert_close(model.gate(data, x), rate)
        x = (1 - rate) * x + rate * model.conv(x, data.edge_index, weight).relu()
    assert_same(model(data), model.decoder(x), model)


def test_a_rate_of_zero_freezes_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = build("g2-gcn", AWKWARD["plain"](), hops=4)
    own_gate = model.gate

    def gate(data: Data, x: Tensor) -> Tensor:
        rate = own_gate(data, x) + 0.5
        return rate.index_fill(0, torch.tensor([3]), 0.0)

    monkeypatch.setattr(model, "gate", gate)
    frozen = model.decoder(model.stem(data.x))
    found = model(data)
    torch.testing.assert_close(found[3], frozen[3])
    assert not torch.isclose(found, frozen).all(1)[torch.arange(10) != 3].any()


def test_nodes_equal_to_their_neighbours_do_not_change() -> None:
    model, data = build("g2-gcn", AWKWARD["isolated_nodes"]())
    apart = torch.tensor([7, 8, 9])
    # four nodes in a ring with equal degrees and equal features
    data.x = data.x.index_fill(0, torch.arange(4), 0.7)
    rate = model.gate(data, model.stem(data.x)).detach()
    assert not rate[apart].any()
    assert float(rate[:4].max()) < 1e-6 < float(rate[4:7].max())
    frozen = model.decoder(model.stem(data.x))
    torch.testing.assert_close(model(data)[apart], frozen[apart])


def test_the_power_changes_the_gate_and_has_a_bound() -> None:
    torch.manual_seed(0)
    linear, square = G2GCN(4, 8, 3, p=1.0).eval(), G2GCN(4, 8, 3).eval()
    square.load_state_dict(linear.state_dict())
    data = AWKWARD["plain"]()
    x = square.stem(data.x)
    hidden = slow_differences(data, square.gate_conv(x, data.edge_index).relu(), 1.0)
    torch.testing.assert_close(linear.gate(data, x), hidden.tanh())
    assert not torch.allclose(linear(data), square(data))
    with pytest.raises(ConfigError, match=r"^p must be at least 1 \(got 0.5\)$"):
        G2GCN(4, 8, 3, p=0.5)


def test_the_mean_over_neighbours_is_a_choice() -> None:
    torch.manual_seed(0)
    model, data = G2GCN(4, 8, 3, gate="mean").eval(), AWKWARD["weighted"]()
    x = model.stem(data.x)
    hidden = model.gate_conv(x, data.edge_index, data.edge_weight).relu()
    torch.testing.assert_close(
        model.gate(data, x), slow_differences(data, hidden, 2.0, True).tanh()
    )
    with pytest.raises(ConfigError, match=r"^gate must be one of sum, mean \(got 'top'\)$"):
        G2GCN(4, 8, 3, gate="top")


def test_the_option_reaches_the_model() -> None:
    data = AWKWARD["plain"]()
    assert build("g2-gcn", data)[0].num_layers == 2
    assert build("g2-gcn", data, num_layers=4)[0].num_layers == 4
    assert build("g2-gcn", data, num_layers=4, hops=7)[0].num_layers == 7
