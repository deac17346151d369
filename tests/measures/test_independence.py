"""Whether edges have to do with classes: a slow loop, chance, and graphs that tell nothing."""

import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import csbm
from herofilter.measures import edge_class_p_value
from herofilter.measures.independence import MOST_PAIRS, _statistic


def shuffled(data: Data, seed: int) -> Data:
    data = data.clone()
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(seed))
    data.y = data.y[order]
    return data


@pytest.mark.parametrize("heterophily", [0.1, 0.9])
def test_homophily_and_heterophily_both_have_to_do_with_classes(heterophily: float) -> None:
    data = csbm(num_nodes=200, num_classes=3, heterophily=heterophily)
    assert edge_class_p_value(data) == 1 / 200


def test_shuffled_labels_give_every_value_alike() -> None:
    data = csbm(num_nodes=100, num_classes=3, heterophily=0.1)
    values = [edge_class_p_value(shuffled(data, seed), 99) for seed in range(60)]
    assert 0.35 < float(np.mean(values)) < 0.65
    assert sum(value <= 0.05 for value in values) <= 9
    assert min(values) < 0.2
    assert max(values) > 0.8


def test_the_statistic_against_a_slow_loop() -> None:
    first, second = np.array([0, 0, 1, 2, 2, 1]), np.array([1, 2, 1, 0, 2, 2])
    counts = np.zeros((3, 3))
    for one, other in zip(first, second, strict=True):
        counts[one, other] += 1
        counts[other, one] += 1
    expected = [[counts[c].sum() * counts[d].sum() / 12 for d in range(3)] for c in range(3)]
    value = sum(
        (counts[c, d] - expected[c][d]) ** 2 / expected[c][d] for c in range(3) for d in range(3)
    )
    assert _statistic(first, second, 3) == pytest.approx(value)


def test_unknown_labels_do_not_count() -> None:
    data = csbm(num_nodes=200, num_classes=3, heterophily=0.1)
    data.y[100:] = -1
    kept = (data.edge_index < 100).all(dim=0)
    part = Data(edge_index=data.edge_index[:, kept], y=data.y[:100], num_nodes=100)
    assert edge_class_p_value(data) == edge_class_p_value(part)


def test_the_same_seed_gives_the_same_value_and_large_graphs_are_drawn_from() -> None:
    data = shuffled(csbm(num_nodes=3000, num_classes=3, average_degree=40), 0)
    assert data.edge_index.size(1) // 2 > MOST_PAIRS
    assert edge_class_p_value(data, 19) == edge_class_p_value(data, 19)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, -1, 1], [-1, -1, -1]])
def test_without_two_linked_classes_there_is_no_value(labels: list[int]) -> None:
    path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor(labels), num_nodes=3)
    assert math.isnan(edge_class_p_value(path))
