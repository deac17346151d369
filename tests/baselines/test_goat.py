"""GOAT: local attention as PyG has it, global attention over all nodes, and its codebook."""

import pytest
import torch

from herofilter.baselines.edge_list import edges_of
from herofilter.baselines.goat import GOAT, transformer_conv
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD
from tests.baselines.oracles import assert_same, build


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("name", ["plain", "isolated_nodes", "weighted", "disconnected"])
def test_local_layer_is_that_of_pyg(name: str, heads: int) -> None:
    model, data = build("goat", AWKWARD[name](), heads=heads)
    conv = model.convs[0]
    hidden = torch.randn(10, 8, generator=torch.Generator().manual_seed(0))
    found = transformer_conv(conv, edges_of(data, loops=False), hidden)
    assert_same(found, conv(hidden, data.edge_index), conv)


def test_global_part_is_dense_attention_when_each_node_is_a_centroid() -> None:
    model, data = build("goat", AWKWARD["plain"](), tokens=10, heads=2)
    hidden = model.stem(data.x).detach()
    model.codebook.update(hidden)
    assert model.codebook.size.tolist() == [1] * 10
    expected = []
    for head in (slice(0, 4), slice(4, 8)):
        query, key, value = (
            layer(hidden)[:, head] for layer in (model.query, model.key, model.value)
        )
        expected.append((query @ key.t() / 2).softmax(1) @ value)
    torch.testing.assert_close(model.global_attention(hidden), torch.cat(expected, dim=1))


def test_the_formula_in_one_line() -> None:
    model, data = build("goat", AWKWARD["plain"](), num_layers=2)
    hidden = model.stem(data.x)
    local = model.convs[1](model.convs[0](hidden, data.edge_index).relu(), data.edge_index)
    both = torch.cat([local, model.global_attention(hidden)], dim=1)
    torch.testing.assert_close(model(data), model.head(both.relu()))


def test_the_codebook_learns_in_training_only() -> None:
    model, data = build("goat", AWKWARD["plain"]())
    before = model.codebook.centroids.clone()
    model(data)
    assert torch.equal(model.codebook.centroids, before)
    assert not model.codebook.started
    model.train()
    model(data, torch.tensor([0]))
    assert model.codebook.started
    # all nodes count, however few are asked for
    assert float(model.codebook.size.sum()) == 10
    state = {name: value.clone() for name, value in model.state_dict().items()}
    model.eval()
    once = model(data)
    model.reset_parameters()
    model.load_state_dict(state)
    torch.testing.assert_close(model(data), once)


def test_two_forward_passes_before_a_backward_pass() -> None:
    model, data = build("goat", AWKWARD["plain"]())
    model.train()
    losses = [model(data).square().sum() for _ in range(2)]
    sum(losses).backward()
    assert torch.isfinite(model.key.weight.grad).all()


def test_settings_reach_the_model() -> None:
    default, data = build("goat", AWKWARD["plain"]())
    assert (default.heads, default.codebook.size.numel(), len(default.convs)) == (2, 64, 1)
    model, _ = build("goat", AWKWARD["plain"](), heads=4, tokens=5, num_layers=3)
    assert (model.heads, model.codebook.size.numel(), len(model.convs)) == (4, 5, 3)
    odd, _ = build("goat", AWKWARD["plain"](), hidden_channels=9)
    assert odd(data).shape == (10, 3)


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"\(got 8 channels and 3 heads\)$"):
        GOAT(4, 8, 3, heads=3)
    with pytest.raises(ConfigError, match=r"^num_centroids must be at least 1 \(got 0\)$"):
        GOAT(4, 8, 3, num_centroids=0)
