import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import (
    check_graph,
    csbm,
    graph_structure,
    is_directed,
    select_split,
    symmetrise,
)
from herofilter.errors import ConfigError


def node_heterophily(data: Data) -> float:
    """The definition, node by node."""
    neighbours: list[set[int]] = [set() for _ in range(data.num_nodes)]
    for source, target in data.edge_index.t().tolist():
        if source != target:
            neighbours[source].add(target)
            neighbours[target].add(source)
    label = data.y.tolist()
    shares = [
        sum(label[u] != label[v] for u in around) / len(around) if around else 0.0
        for v, around in enumerate(neighbours)
    ]
    return sum(shares) / len(shares)


@pytest.mark.parametrize("compatibility", ["uniform", "cyclic"])
@pytest.mark.parametrize("degree", [2.0, 10.0])
@pytest.mark.parametrize("heterophily", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_target_is_hit(compatibility: str, degree: float, heterophily: float) -> None:
    data = csbm(
        heterophily=heterophily, average_degree=degree, compatibility=compatibility, num_features=0
    )
    assert node_heterophily(data) == pytest.approx(heterophily, abs=0.02)
    assert data.edge_index.size(1) / data.num_nodes == pytest.approx(degree, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("heterophily", [0.2, 0.8])
def test_target_is_hit_on_small_skewed_and_directed_graphs(seed: int, heterophily: float) -> None:
    options = {"heterophily": heterophily, "num_features": 0, "seed": seed}
    small = csbm(num_nodes=150, num_classes=3, average_degree=4.0, **options)
    skewed = csbm(num_nodes=2000, power_law=2.3, **options)
    for data in (small, skewed, csbm(directed=True, **options)):
        assert node_heterophily(data) == pytest.approx(heterophily, abs=0.02)


def test_graph_is_clean_and_legal() -> None:
    data = csbm(num_nodes=500, power_law=2.5)
    counts = graph_structure(data)
    assert (counts.num_isolated, counts.num_self_loops, counts.num_duplicates) == (0, 0, 0)
    assert torch.bincount(data.y).tolist() == [100] * 5
    check_graph(select_split(data, 9), split_required=True)


def test_direction() -> None:
    assert not is_directed(csbm(num_nodes=200))
    directed = csbm(num_nodes=200, directed=True)
    assert directed.edge_index.size(1) == 1000
    assert symmetrise(directed).edge_index.size(1) == 2000


def test_cyclic_links_the_next_class_only() -> None:
    data = csbm(compatibility="cyclic", heterophily=0.6, directed=True)
    source, target = data.y[data.edge_index]
    assert set(((target - source) % 5).tolist()) == {0, 1}


def test_uniform_spreads_over_the_other_classes() -> None:
    source, target = (data := csbm(heterophily=1.0, num_nodes=2000)).y[data.edge_index]
    steps = torch.bincount((target - source) % 5, minlength=5).double()
    assert steps[0] == 0
    assert (steps[1:] / steps.sum()).tolist() == pytest.approx([0.25] * 4, abs=0.02)


def test_power_law_has_hubs() -> None:
    flat, skewed = (
        torch.bincount(csbm(5000, power_law=p, num_features=0).edge_index[0]) for p in (None, 2.2)
    )
    assert skewed.max() > 5 * flat.max()
    assert float(skewed.double().mean()) == pytest.approx(10, rel=0.02)


def test_same_seed_same_graph() -> None:
    first, again, other = (csbm(num_nodes=200, seed=seed) for seed in (4, 4, 5))
    for name in ("x", "y", "edge_index", "train_mask"):
        assert torch.equal(first[name], again[name])
    assert not torch.equal(first.edge_index, other.edge_index)


def test_features_carry_the_signal() -> None:
    data = csbm(num_nodes=5000, feature_signal=3.0)
    means = torch.stack([data.x[data.y == c].mean(dim=0) for c in range(5)])
    assert means.norm(dim=1).tolist() == pytest.approx([3.0] * 5, abs=0.2)
    crossed = means @ means.t()
    assert float((crossed - crossed.diag().diag()).abs().max()) < 0.8
    assert csbm(num_nodes=100, num_features=0).x is None
    assert csbm(num_nodes=100, num_features=2).x.shape == (100, 2)


def test_large_graph_is_vectorised() -> None:
    data = csbm(100_000, heterophily=0.7, average_degree=9.0, power_law=2.5, num_features=0)
    source, target = data.edge_index.numpy()
    unlike = (data.y.numpy()[source] != data.y.numpy()[target]).astype(float)
    share = np.bincount(source, weights=unlike) / np.bincount(source)
    assert share.mean() == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"heterophily": 1.2}, "heterophily must be between 0 and 1 (got 1.2)"),
        ({"heterophily": math.nan}, "heterophily must be between 0 and 1 (got nan)"),
        ({"num_classes": 1}, "num_classes must be at least 2 with compatibility='uniform' (got 1)"),
        (
            {"num_classes": 2, "compatibility": "cyclic"},
            "num_classes must be at least 3 with compatibility='cyclic' (got 2)",
        ),
        (
            {"compatibility": "cyclc"},
            "compatibility must be one of uniform, cyclic (got 'cyclc') (did you mean 'cyclic'?)",
        ),
        ({"num_nodes": 14}, "num_nodes must be at least three per class (got 14 for 5 classes)"),
        (
            {"num_nodes": 100, "average_degree": 30.0, "heterophily": 0.0},
            "average_degree must be at most 19 (got 30; with heterophily=0 and classes of "
            "20 nodes there is no room for more)",
        ),
        (
            {"average_degree": 1.0},
            "average_degree must be at least 2, so that no node stays isolated (got 1)",
        ),
        ({"power_law": 2.0}, "power_law must be above 2, or None (got 2)"),
        ({"num_features": -1}, "num_features must be 0 or more (got -1)"),
        ({"feature_signal": -1.0}, "feature_signal must be finite and not negative (got -1.0)"),
        ({"num_splits": 0}, "num_splits must be at least 1 (got 0)"),
    ],
)
def test_impossible_settings(options: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        csbm(**options)
    assert str(caught.value) == text
