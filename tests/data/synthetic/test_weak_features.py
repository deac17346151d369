"""Graphs with weak columns: sizes, class shares, what neighbours tell, and the texts of errors."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import check_graph
from herofilter.data.synthetic.weak_features import weak_features_graph
from herofilter.errors import ConfigError
from herofilter.spectral.adjacency import adjacency_matrix


def correlation(data: Data) -> float:
    """Return how well the labels of neighbours predict a node's label."""
    matrix = adjacency_matrix(data.edge_index, data.num_nodes, self_loops=False)
    y = data.y.double().numpy()
    degree = np.maximum(matrix.sum(axis=1), 1)
    return float(np.corrcoef((matrix @ y) / degree, y)[0, 1])


def test_the_graph_is_as_described() -> None:
    data = weak_features_graph()
    check_graph(data)
    assert data.x.shape == (11_758, 10)
    assert float((data.y == 0).float().mean()) == pytest.approx(0.78, abs=1e-3)
    assert 20 < data.edge_index.size(1) / 11_758 <= 30
    assert not bool((data.edge_index[0] == data.edge_index[1]).any())
    keys = data.edge_index[0] * 11_758 + data.edge_index[1]
    assert torch.unique(keys).numel() == keys.numel()
    assert data.train_mask.shape == (11_758, 10)


def test_labels_of_neighbours_tell_more_than_columns() -> None:
    data = weak_features_graph(num_nodes=4000)
    y = data.y.double().numpy()
    columns = [abs(np.corrcoef(column, y)[0, 1]) for column in data.x.double().numpy().T]
    assert max(columns) < 0.25
    assert correlation(data) > 0.35
    assert abs(correlation(weak_features_graph(num_nodes=4000, label_spread=0.0))) < 0.1


def test_equal_seeds_give_equal_graphs() -> None:
    one, again, other = (weak_features_graph(num_nodes=300, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.x, again.x)
    assert torch.equal(one.edge_index, again.edge_index)
    assert not torch.equal(one.y, other.y)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"num_nodes": 49}, "num_nodes must be at least 50 (got 49)"),
        ({"num_features": 0}, "num_features must be at least 1 (got 0)"),
        ({"num_groups": 0}, "num_groups must be at least 1 (got 0)"),
        (
            {"num_nodes": 100, "average_degree": 25.0},
            "average_degree must be above 0 and below a quarter of the 100 nodes (got 25)",
        ),
        ({"minority": 0.6}, "minority must be above 0 and at most 0.5 (got 0.6)"),
        ({"mixing": 1.5}, "mixing must be between 0 and 1 (got 1.5)"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        weak_features_graph(**settings)
