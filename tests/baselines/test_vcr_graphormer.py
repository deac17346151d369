"""VCR-Graphormer: every token by a slow loop, and whose labels it reads."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.graph_partition import partition
from herofilter.baselines.vcr_graphormer import VCRGraphormer
from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.patchers import FastPatcher
from herofilter.training.artifacts.weights import load_weights, weights_of
from tests.awkward import AWKWARD
from tests.baselines.oracles import build


def graph() -> Data:
    return csbm(num_nodes=40, num_classes=3, average_degree=4, seed=3)


def shown(data: Data) -> Tensor:
    return torch.where(torch.arange(data.num_nodes) % 2 == 0, data.y, -1)


def tokens_of(model: VCRGraphormer, data: Data, nodes: Tensor | None = None) -> Any:
    """Return the tokens and the mask that the encoder gets."""
    caught = []
    hook = model.encoder.register_forward_pre_hook(lambda _, given: caught.append(given))
    model(data, nodes)
    hook.remove()
    return caught[0]


def test_every_token_against_a_slow_loop() -> None:
    model, data = build("vcr-graphormer", graph(), hops=2, tokens=3, alpha=0.4)
    model.num_clusters = 5
    labels = shown(data)
    model.show_labels(labels)
    tokens, mask = tokens_of(model, data)
    # two hops and the node, three nodes, three clusters, three classes
    assert tokens.shape == (40, 3 + 3 + 3 + 3, 8)
    ranking = FastPatcher(40, c=0.6, self_loops=False, ego="first")(data)
    parts = partition(data, 5)
    weight, bias, last = model.tokens.linear.weight, model.tokens.bias, model.weight_vector
    hops = model.tokens(data)
    for v in range(40):
        torch.testing.assert_close(tokens[v, :3], hops[v] + last)
        reached = {
            u: score
            for u, score in zip(ranking.index[v].tolist(), ranking.score[v].tolist(), strict=True)
            if u >= 0
        }
        others = [u for u in reached if u != v]
        for position, u in enumerate(others[:3]):
            scale = reached[u] / reached[others[0]]
            torch.testing.assert_close(
                tokens[v, 3 + position], scale * (data.x[u] @ weight + last) + bias
            )
        by_cluster, by_class = [0.0] * len(parts.mean), [0.0] * 3
        for u, score in reached.items():
            if parts.member[u] >= 0:
                by_cluster[int(parts.member[u])] += score
            if u != v and labels[u] >= 0:
                by_class[int(labels[u])] += score
        for start, mass, vectors in (
            (6, by_cluster, parts.mean @ weight),
            (9, by_class, model.class_vectors),
        ):
            ranked = sorted(range(len(mass)), key=lambda group: -mass[group])
            for position, group in enumerate(ranked[:3]):
                scale = mass[group] / max(sum(mass), 1e-12)
                assert bool(mask[v, start + position]) == (scale > 0)
                torch.testing.assert_close(
                    tokens[v, start + position], scale * (vectors[group] + last) + bias
                )


def test_a_node_does_not_read_its_own_label() -> None:
    model, data = build("vcr-graphormer", graph())
    labels = shown(data)
    model.show_labels(labels)
    before = model(data)
    changed = labels.clone()
    changed[6] = (changed[6] + 1) % 3
    model.show_labels(changed)
    difference = (model(data) - before).abs().amax(1)
    assert difference[6] == 0
    assert int((difference > 1e-6).sum()) > 3


def test_only_shown_labels_are_read() -> None:
    model, data = build("vcr-graphormer", graph())
    model.show_labels(shown(data))
    before = model(data)
    data.y = data.y.flip(0)
    assert torch.equal(model(data), before)
    model.show_labels(torch.full((40,), -1))
    none = model(data)
    assert not torch.allclose(none, before)
    _, mask = tokens_of(model, data)
    assert not mask[:, -3:].any()


def test_a_batch_has_the_tokens_of_its_nodes() -> None:
    model, data = build("vcr-graphormer", graph())
    model.show_labels(shown(data))
    nodes = torch.tensor([30, 2, 30])
    full, mask = tokens_of(model, data)
    part, part_mask = tokens_of(model, data, nodes)
    torch.testing.assert_close(part, full[nodes])
    assert torch.equal(part_mask, mask[nodes])


def test_another_graph_has_no_known_labels() -> None:
    model, data = build("vcr-graphormer", graph())
    model.show_labels(shown(data))
    other = AWKWARD["plain"]()
    other.x = other.x.repeat(1, 8)
    before = model(other)
    model.show_labels(torch.full((40,), -1))
    torch.testing.assert_close(model(other), before)


def test_weights_leave_the_labels_behind() -> None:
    model, data = build("vcr-graphormer", graph())
    model.show_labels(shown(data))
    weights = weights_of(model)
    assert "labels.known" not in weights
    other, _ = build("vcr-graphormer", graph())
    other.reset_parameters()
    load_weights(other, weights)
    assert not torch.allclose(other(data), model(data))
    other.show_labels(shown(data))
    torch.testing.assert_close(other(data), model(data))
    assert torch.equal(model.state_dict()["labels.known"], shown(data))


def test_settings_reach_the_model() -> None:
    data = AWKWARD["plain"]()
    default, _ = build("vcr-graphormer", data)
    assert (default.tokens.hops, default.num_tokens, default.alpha) == (3, 4, 0.5)
    assert [block.heads for block in default.encoder.blocks] == [2]
    settings = {"hops": 2, "tokens": 8, "alpha": 0.2, "heads": 4, "num_layers": 2}
    model, _ = build("vcr-graphormer", data, **settings)
    assert (model.tokens.hops, model.num_tokens, model.alpha) == (2, 8, 0.2)
    assert [block.heads for block in model.encoder.blocks] == [4, 4]


def test_errors() -> None:
    with pytest.raises(
        ConfigError, match=r"^num_tokens and num_clusters must be at least 1 \(got 0 and 16\)$"
    ):
        VCRGraphormer(4, 8, 3, num_tokens=0)
    with pytest.raises(ConfigError, match=r"^alpha must be above 0 and at most 1 \(got 0\)$"):
        VCRGraphormer(4, 8, 3, alpha=0)
