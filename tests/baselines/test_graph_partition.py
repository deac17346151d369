"""Partition on graphs where they are plain, and what is reached of them against a slow loop."""

import itertools

import pytest
import torch
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.graph_partition import partition, rank_groups
from herofilter.data import csbm, to_sparse
from tests.awkward import AWKWARD


def cliques(count: int, size: int) -> Data:
    """Return complete graphs in a ring, each joined to the next by one edge."""
    pairs = [
        (size * c + a, size * c + b)
        for c in range(count)
        for a, b in itertools.combinations(range(size), 2)
    ]
    pairs += [(size * c + 1, (size * c + size) % (count * size)) for c in range(count)]
    edges = torch.tensor(pairs).t()
    x = torch.randn(count * size, 3, generator=torch.Generator().manual_seed(0))
    return Data(x, torch.cat([edges, edges.flip(0)], 1), num_nodes=count * size)


def test_joined_cliques_are_found() -> None:
    found = partition(cliques(4, 6), 4).member.view(4, 6)
    assert torch.equal(found, found[:, :1].expand(4, 6))
    assert sorted(found[:, 0].tolist()) == [0, 1, 2, 3]


def test_nodes_go_to_the_seed_of_the_formula() -> None:
    data = csbm(num_nodes=40, num_classes=3, average_degree=4, seed=3)
    matrix = propagation(data, "none", loops=False)(torch.eye(40)).double()
    degree = matrix.sum(1)
    seeds: list[int] = []
    for node in sorted(range(40), key=lambda v: -float(degree[v])):
        if len(seeds) < 5 and not matrix[node, seeds].any():
            seeds.append(node)
    step = (torch.eye(40) + matrix / degree.clamp(min=1).unsqueeze(1)) / 2
    chance = torch.linalg.matrix_power(step, 20)[:, seeds] / degree[seeds]
    expected = torch.where(chance.amax(1) > 0, chance.argmax(1), -1)
    assert torch.equal(partition(data, 5).member, expected)
    assert not torch.equal((chance * degree[seeds]).argmax(1), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_means_against_a_slow_loop(sparse: bool) -> None:
    data = cliques(3, 4)
    dense = data.x
    data.x = to_sparse(dense) if sparse else dense
    found = partition(data, 3)
    for number in range(3):
        rows = [dense[node] for node in range(12) if found.member[node] == number]
        torch.testing.assert_close(found.mean[number], torch.stack(rows).mean(0))


def test_seeds_are_no_neighbours_so_that_a_complete_graph_is_one_cluster() -> None:
    found = partition(AWKWARD["complete"](), 5)
    assert found.member.tolist() == [0] * 8
    assert found.mean.shape == (1, 4)


def test_nodes_without_edges_are_in_no_cluster() -> None:
    member = partition(AWKWARD["isolated_nodes"](), 4).member
    assert member[7:].tolist() == [-1, -1, -1]
    assert int(member[:7].min()) == 0
    nothing = partition(AWKWARD["no_edges"](), 4)
    assert nothing.member.tolist() == [-1] * 10
    assert nothing.mean.shape == (0, 4)


def test_the_order_of_nodes_does_not_matter() -> None:
    data = cliques(4, 6)
    # weights without ties
    weight = torch.rand(data.edge_index.size(1) // 2, generator=torch.Generator().manual_seed(1))
    data.edge_weight = (weight + 0.5).repeat(2)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(2))
    position = order.argsort()
    moved = Data(data.x[order], position[data.edge_index], num_nodes=24)
    moved.edge_weight = data.edge_weight
    assert torch.equal(partition(moved, 3).member, partition(data, 3).member[order])


def test_what_is_reached_against_a_slow_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    member = torch.randint(-1, 4, (12,), generator=generator)
    index = torch.randint(-1, 12, (6, 5), generator=generator)
    index[5] = -1
    score = torch.rand(6, 5, generator=generator)
    position, share = rank_groups(member, 4, index, score)
    for row in range(6):
        mass = [0.0] * 4
        for node, value in zip(index[row].tolist(), score[row].tolist(), strict=True):
            if node >= 0 and member[node] >= 0:
                mass[int(member[node])] += value
        total = sum(mass) or 1.0
        assert sorted(position[row].tolist()) == [0, 1, 2, 3]
        expected = torch.tensor([mass[group] / total for group in position[row].tolist()])
        torch.testing.assert_close(share[row], expected)
        assert bool((share[row].diff() <= 0).all())
