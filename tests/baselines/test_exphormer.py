"""Exphormer: the expander, who attends to whom, and attention against dense algebra."""

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import to_dense_adj

from herofilter.baselines.expander import KINDS, expander, interaction
from herofilter.baselines.exphormer import Exphormer
from herofilter.baselines.exphormer_layer import SparseAttention
from herofilter.config import Config
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from herofilter.training import prepare, seeded
from tests.awkward import AWKWARD

GRAPHS = ["plain", "isolated_nodes", "self_loops", "duplicates", "tiny", "no_edges", "complete"]


def dense(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return how often each source (column) leads to each target (row)."""
    return to_dense_adj(edge_index, max_num_nodes=num_nodes)[0].t()


@pytest.mark.parametrize("num_nodes", [8, 9, 50, 300])
@pytest.mark.parametrize("degree", [4, 6])
def test_expander_is_regular_and_nearly_ramanujan(num_nodes: int, degree: int) -> None:
    matrix = dense(expander(num_nodes, degree), num_nodes)
    assert torch.equal(matrix, matrix.t())
    assert matrix.sum(1).unique().tolist() == [degree]
    assert not matrix.diagonal().any()
    # ascending; a simple largest eigenvalue means that the graph is connected
    values = torch.linalg.eigvalsh(matrix.double())
    assert math.isclose(values[-1], degree, rel_tol=1e-9)
    assert values[-2] < 2 * math.sqrt(degree - 1) + 0.5 < degree


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 6, 7])
def test_few_nodes_are_all_joined(num_nodes: int) -> None:
    matrix = dense(expander(num_nodes, 6), num_nodes)
    assert torch.equal(matrix, 1 - torch.eye(num_nodes))


def test_expander_depends_on_the_size_alone() -> None:
    before = torch.random.get_rng_state()
    assert torch.equal(expander(40), expander(40))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not torch.equal(expander(40), expander(41)[:, :240])


@pytest.mark.parametrize("degree", [0, 5])
def test_degrees_that_cycles_do_not_give(degree: int) -> None:
    with pytest.raises(ConfigError, match=rf"must be even and at least 2 \(got {degree}\)"):
        expander(40, degree)


@pytest.mark.parametrize("graph", GRAPHS)
def test_interaction_joins_the_kinds(graph: str) -> None:
    data = AWKWARD[graph]()
    n = int(data.num_nodes or 0)
    edges = interaction(data, 4, 2)
    assert interaction(data, 4, 2) is edges
    own, expanded, inward, outward = (
        dense(torch.stack([kind.source, kind.target]), n + 2) for kind in edges.kinds
    )
    expected = (dense(data.edge_index, n) > 0).float().fill_diagonal_(0)
    assert torch.equal(own[:n, :n], expected)
    assert torch.equal(expanded[:n, :n], dense(expander(n, 4), n))
    assert torch.equal(inward[:n, n:], torch.ones(n, 2))
    assert torch.equal(outward[n:, :n], torch.ones(2, n))
    sums = [float(kind.sum()) for kind in (own, expanded, inward, outward)]
    assert sums == [float(expected.sum()), expanded[:n, :n].sum(), 2 * n, 2 * n]
    for name in ("source", "target"):
        listed = torch.cat([getattr(kind, name) for kind in edges.kinds])
        assert torch.equal(listed[edges.position], getattr(edges.union, name))


@pytest.mark.parametrize("graph", GRAPHS)
def test_attention_equals_dense_attention_under_a_mask(graph: str) -> None:
    data = AWKWARD[graph]()
    n = int(data.num_nodes or 0)
    edges = interaction(data, 4, 2)
    with seeded(0):
        layer = SparseAttention(6, 2)
        torch.nn.init.normal_(layer.features)
        hidden = torch.randn(n + 2, 6, requires_grad=True)
    found = layer(hidden, edges)

    query, key, value = (
        part(hidden).view(-1, 2, 3) for part in (layer.query, layer.key, layer.value)
    )
    total, norm = torch.zeros(n + 2, 2, 3), torch.zeros(n + 2, 2, 1)
    for kind, feature in zip(edges.kinds, layer.features, strict=True):
        count = dense(torch.stack([kind.source, kind.target]), n + 2)
        score = torch.einsum("vac,ac,uac->vua", query, feature, key) / math.sqrt(3)
        # a pair that is there twice has two shares
        share = count.unsqueeze(2) * score.exp()
        total = total + torch.einsum("vua,uac->vac", share, value)
        norm = norm + share.sum(1).unsqueeze(2)
    expected = layer.out((total / norm).flatten(1))
    torch.testing.assert_close(found, expected)
    leaves = [hidden, *layer.parameters()]
    gradients = [
        torch.autograd.grad(out.square().sum(), leaves, retain_graph=True)
        for out in (found, expected)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_equal_features_give_plain_attention_over_a_complete_graph() -> None:
    data = AWKWARD["no_edges"]()
    edges = interaction(data, 10, 1)
    with seeded(0):
        layer = SparseAttention(4, 1)
        hidden = torch.randn(11, 4)
    mask = torch.ones(11, 11).fill_diagonal_(0).bool()
    plain = torch.nn.functional.scaled_dot_product_attention(
        layer.query(hidden), layer.key(hidden), layer.value(hidden), attn_mask=mask
    )
    torch.testing.assert_close(layer(hidden, edges), layer.out(plain))


def test_a_layer_is_its_formula() -> None:
    data = AWKWARD["plain"]()
    with seeded(0):
        model = Exphormer(4, 8, 3, num_layers=2, heads=2, tokens=2).eval()
    edges = interaction(data, 6, 2)
    hidden, virtual = model.stem(data.x), model.virtual
    for layer in model.layers:
        attended = layer.attention(torch.cat([hidden, virtual]), edges)
        convolved = layer.conv(hidden, data.edge_index)
        total = layer.conv_norm(hidden + convolved) + layer.attention_norm(hidden + attended[:10])
        hidden = layer.norm(total + layer.narrow(layer.widen(total).relu()))
        virtual = virtual + attended[10:]
    torch.testing.assert_close(model(data), model.head(hidden))


def test_what_is_far_is_seen_through_expander_and_virtual_nodes() -> None:
    data = AWKWARD["no_edges"]()
    with seeded(0):
        model = Exphormer(4, 8, 3, heads=2).eval()
    before = model(data)
    data.x[0] += 1.0
    assert (model(data) != before).any(1).all()


def test_state_has_all_kinds() -> None:
    model = Exphormer(4, 8, 3, heads=2)
    assert model.layers[0].attention.features.shape == (len(KINDS), 2, 4)
    model.layers[0].attention.features.data.zero_()
    model.reset_parameters()
    assert model.layers[0].attention.features.unique().tolist() == [1.0]


def test_options_reach_the_model() -> None:
    config = Config().replace(heads=2, tokens=3, hidden_channels=16, num_layers=3)
    data = prepare(AWKWARD["plain"](), config, "exphormer")
    model = find_model("exphormer").build(data, config)
    assert isinstance(model, Exphormer)
    assert (model.layers[0].attention.heads, model.virtual.shape) == (2, (3, 16))
    assert len(model.layers) == 3
    assert set(find_model("exphormer").options) == {"heads", "tokens"}
    default = find_model("exphormer").build(data, Config().replace(hidden_channels=6))
    assert (default.layers[0].attention.heads, default.virtual.shape) == (2, (1, 6))


def test_heads_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"multiple of heads \(got 8 channels and 3 heads\)"):
        Exphormer(4, 8, 3, heads=3)
