import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import Structure, graph_structure, is_directed, symmetrise
from herofilter.spectral.adjacency import adjacency_matrix
from tests import awkward


def test_counts() -> None:
    assert graph_structure(awkward.plain()) == Structure(10, 28, 0, 0, 0, False)
    assert graph_structure(awkward.isolated_nodes()) == Structure(10, 12, 3, 0, 0, False)
    assert graph_structure(awkward.self_loops()) == Structure(10, 23, 0, 3, 0, False)
    assert graph_structure(awkward.duplicates()) == Structure(10, 37, 0, 0, 9, False)
    assert graph_structure(awkward.directed()) == Structure(10, 14, 0, 0, 0, True)
    assert graph_structure(awkward.no_edges()) == Structure(10, 0, 10, 0, 0, False)


def test_a_node_with_only_a_self_loop_is_isolated() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [0, 2]]), num_nodes=3)
    assert graph_structure(data).num_isolated == 1


def test_weights_that_differ_make_a_graph_directed() -> None:
    data = awkward.weighted()
    assert not is_directed(data)
    data.edge_weight[0] += 1
    assert is_directed(data)


@pytest.mark.parametrize("name", awkward.AWKWARD)
def test_symmetrise_agrees_with_the_adjacency_matrix(name: str) -> None:
    data = awkward.AWKWARD[name]()
    original = data.edge_index.clone()
    result = symmetrise(data)
    assert not is_directed(result)
    assert graph_structure(result).num_duplicates == 0
    assert graph_structure(result).num_self_loops == graph_structure(data).num_self_loops
    assert torch.equal(data.edge_index, original)
    sides = [
        adjacency_matrix(g.edge_index, 14, g.get("edge_weight")).toarray() for g in (data, result)
    ]
    assert np.allclose(*sides)


def test_symmetrise_takes_the_larger_weight() -> None:
    data = Data(
        edge_index=torch.tensor([[0, 1, 0, 2], [1, 0, 1, 2]]),
        edge_weight=torch.tensor([1.0, 4.0, 2.0, 5.0]),
        num_nodes=3,
    )
    result = symmetrise(data)
    assert result.edge_index.tolist() == [[0, 1, 2], [1, 0, 2]]
    assert result.edge_weight.tolist() == [4.0, 4.0, 5.0]
