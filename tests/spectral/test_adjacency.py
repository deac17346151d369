import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from herofilter.errors import ConfigError, GraphError
from herofilter.spectral import adjacency_matrix, normalised_adjacency
from tests.spectral.graphs import EdgeList, edge_lists


def dense_oracle(graph: EdgeList, self_loops: bool, directed: str) -> np.ndarray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    for k, (i, j) in enumerate(graph.edge_index.T.tolist()):
        if graph.edge_weight is None:
            matrix[i, j] = 1
        else:
            matrix[i, j] += float(graph.edge_weight[k])
    if directed == "symmetrise":
        matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, float(self_loops))
    out, into = matrix.sum(1), matrix.sum(0)
    for i in range(graph.num_nodes):
        for j in range(graph.num_nodes):
            if matrix[i, j]:
                matrix[i, j] /= np.sqrt(out[i] * into[j])
    return matrix


@settings(deadline=None)
@given(edge_lists(), st.booleans(), st.sampled_from(["symmetrise", "keep"]))
def test_normalised_adjacency_equals_the_formula(graph, self_loops, directed):
    matrix = normalised_adjacency(
        graph.edge_index,
        graph.num_nodes,
        graph.edge_weight,
        self_loops=self_loops,
        directed=directed,
    )
    expected = dense_oracle(graph, self_loops, directed)
    np.testing.assert_allclose(matrix.toarray(), expected, atol=1e-12)


@settings(deadline=None)
@given(edge_lists(), st.booleans())
def test_eigenvalues_lie_within_one(graph, self_loops):
    matrix = normalised_adjacency(
        graph.edge_index, graph.num_nodes, graph.edge_weight, self_loops=self_loops
    ).toarray()
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert eigenvalues.min() >= -1 - 1e-9
    assert eigenvalues.max() <= 1 + 1e-9
    if self_loops:
        assert eigenvalues.max() == pytest.approx(1)


def test_unweighted_duplicates_count_once_and_weighted_ones_add_up():
    edges = torch.tensor([[0, 0], [1, 1]])
    assert adjacency_matrix(edges, 2, self_loops=False)[0, 1] == 1
    assert adjacency_matrix(edges, 2, torch.tensor([2.0, 3.0]), self_loops=False)[0, 1] == 5


def test_negative_weights_are_refused():
    with pytest.raises(GraphError, match=r"finite and not negative \(got -1 to -1\)"):
        adjacency_matrix(torch.tensor([[0], [1]]), 2, torch.tensor([-1.0]))


def test_unknown_directed_rule_names_the_closest():
    with pytest.raises(ConfigError, match="did you mean 'symmetrise'"):
        adjacency_matrix(torch.tensor([[0], [1]]), 2, directed="symmetrize")
