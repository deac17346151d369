"""NAGphormer: what its tokens see, its pieces in order, and its settings."""

import pytest
import torch
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.nagphormer import NAGphormer
from herofilter.config import Config
from herofilter.data import to_sparse
from herofilter.nn import find_model
from tests.awkward import AWKWARD

SMALL = Config().replace(hidden_channels=8)


def path(length: int) -> Data:
    edges = torch.stack([torch.arange(length - 1), torch.arange(1, length)])
    x = torch.randn(length, 4, generator=torch.Generator().manual_seed(0))
    y = torch.arange(length) % 2
    return Data(x, torch.cat([edges, edges.flip(0)], 1), y=y, num_nodes=length)


@pytest.mark.parametrize("hops", [1, 2, 4])
def test_a_node_sees_its_hops_and_no_further(hops: int) -> None:
    torch.manual_seed(0)
    model, data = NAGphormer(4, 8, 3, hops=hops).eval(), path(10)
    before = model(data)
    data.x[9] += 3
    changed = (model(data) - before).abs().amax(1) > 0
    assert changed.tolist() == [node >= 9 - hops for node in range(10)]


def test_tokens_are_the_powers_with_self_loops() -> None:
    torch.manual_seed(0)
    model, data = NAGphormer(4, 8, 3, hops=3).eval(), AWKWARD["weighted"]()
    dense = propagation(data, "sym", loops=True)(torch.eye(10))
    powers = torch.stack([torch.linalg.matrix_power(dense, k) @ data.x for k in range(4)], 1)
    expected = model.encoder(powers @ model.tokens.linear.weight + model.tokens.bias)
    torch.testing.assert_close(model(data), expected)


def test_settings_reach_the_model() -> None:
    data = AWKWARD["plain"]()
    default = find_model("nagphormer").build(data, SMALL)
    assert default.tokens.hops == 5
    assert default.encoder.blocks[0].heads == 2
    assert len(default.encoder.blocks) == 1
    model = find_model("nagphormer").build(data, SMALL.replace(hops=3, heads=4, num_layers=2))
    assert model.tokens.hops == 3
    assert [block.heads for block in model.encoder.blocks] == [4, 4]
    assert find_model("nagphormer").build(data, SMALL.replace(hidden_channels=9))(data).shape == (
        10,
        3,
    )


def test_a_batch_is_cheap_where_hops_are_kept() -> None:
    data = AWKWARD["plain"]()
    assert not find_model("nagphormer").build(data, SMALL).full_batch
    data.x = to_sparse(data.x)
    assert find_model("nagphormer").build(data, SMALL).full_batch
