"""Power-law graphs: exact sizes, heavy tails, class signal, and the texts of errors."""

import re

import numpy as np
import pytest
import torch

from herofilter.data import check_graph
from herofilter.data.synthetic.power_law import power_law_graph
from herofilter.errors import ConfigError


@pytest.mark.parametrize(("nodes", "edges"), [(15, 52), (100, 478), (3000, 14340)])
def test_sizes_are_exact(nodes: int, edges: int) -> None:
    data = power_law_graph(nodes, edges)
    assert data.num_nodes == nodes
    low, high = data.edge_index.min(dim=0).values, data.edge_index.max(dim=0).values
    assert int((low == high).sum()) == 0
    # no pair twice, in whatever direction
    assert torch.unique(low * nodes + high).numel() == edges
    check_graph(data, split_required=True)


def test_degrees_have_a_heavy_tail() -> None:
    data = power_law_graph(20_000, 95_600, num_features=0)
    degree = np.sort(np.bincount(data.edge_index.flatten().numpy(), minlength=20_000))[::-1]
    # a Poisson graph of this mean has no node above 30
    assert degree[0] > 200
    assert degree[0] < 3 * np.sqrt(2 * 95_600)
    # Hill's estimate over the top two percent, below the rounding of the largest expected degree
    top = degree[20:400].astype(float)
    exponent = 1 + 1 / np.mean(np.log(top / top[-1]))
    assert 2.1 < exponent < 3.1


def test_edges_follow_classes_as_often_as_asked() -> None:
    for homophily in (0.0, 0.6, 1.0):
        data = power_law_graph(5000, 20_000, homophily=homophily, num_features=0)
        alike = float((data.y[data.edge_index[0]] == data.y[data.edge_index[1]]).float().mean())
        # the others agree by chance, one time in five
        assert alike == pytest.approx(homophily + (1 - homophily) / 5, abs=0.03)


def test_features_know_their_class() -> None:
    data = power_law_graph(4000, 12_000, feature_signal=3.0)
    means = torch.stack([data.x[data.y == label].mean(dim=0) for label in range(5)])
    nearest = torch.cdist(data.x, means).argmin(dim=1)
    assert data.x.dtype == torch.float32
    assert float((nearest == data.y).float().mean()) > 0.8
    assert power_law_graph(60, 100, num_features=0).x is None


def test_half_of_the_nodes_are_for_training() -> None:
    data = power_law_graph(1000, 4000)
    assert [int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")] == [500, 250, 250]


def test_equal_seeds_give_equal_graphs() -> None:
    one, same, other = (power_law_graph(200, 900, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one.edge_index, same.edge_index)
    assert torch.equal(one.x, same.x)
    assert not torch.equal(one.edge_index, other.edge_index)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"num_classes": 1}, "num_classes must be at least 2 (got 1)"),
        ({"num_nodes": 9}, "num_nodes must be at least three per class (got 9 for 5 classes)"),
        (
            {"num_edges": 200},
            "num_edges must be between 1 and 95, half of all pairs (got 200; the graph has 20 "
            "nodes)",
        ),
        ({"homophily": 1.5}, "homophily must be between 0 and 1 (got 1.5)"),
        ({"num_features": -1}, "num_features must be 0 or more (got -1)"),
        ({"exponent": 2.0}, "exponent must be above 2 (got 2)"),
    ],
)
def test_errors(settings: dict[str, float], text: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        power_law_graph(**{"num_nodes": 20, "num_edges": 50, **settings})
