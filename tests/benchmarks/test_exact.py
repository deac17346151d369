"""The oracle of the patcher's benchmark, against dense algebra and rows made by hand."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.exact import exact_truth, filled_share, top_members
from herofilter.data import csbm
from herofilter.spectral.adjacency import adjacency_matrix


@pytest.fixture(scope="module")
def matrix() -> sp.csr_array:
    data = csbm(num_nodes=70, num_classes=3, average_degree=4, seed=1)
    return adjacency_matrix(data.edge_index, 70)


def test_scores_are_those_of_a_dense_solve(matrix: sp.csr_array) -> None:
    sources = np.arange(60)
    truth = exact_truth(matrix, sources, 8, c=0.7)
    degree = matrix.sum(axis=1)
    normal = matrix.toarray() / np.sqrt(np.outer(degree, degree))
    dense = 0.3 * np.linalg.inv(np.eye(70) - 0.7 * normal)
    assert np.abs(truth.scores - dense[sources]).max() < 1e-11
    for row in sources:
        best = np.sort(np.delete(dense[row], row))[::-1]
        assert truth.bar[row] == pytest.approx(best[6], rel=1e-9)
    assert (truth.size == 8).all()


def test_recall_counts_ties_fairly_and_the_source_in_front() -> None:
    # a star: all leaves are tied
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 1
    truth = exact_truth(sp.csr_array(star + np.eye(6)), np.array([0, 3]), 3, c=0.5)
    assert truth.recall(0, np.array([0, 1, 2])) == 1
    assert truth.recall(0, np.array([0, 5, 4])) == 1
    assert truth.recall(0, np.array([5, 0, 4])) == pytest.approx(2 / 3)
    assert truth.recall(0, np.array([0, 5, -1])) == pytest.approx(2 / 3)
    # a node named twice is right once
    assert truth.recall(0, np.array([0, 5, 5])) == pytest.approx(2 / 3)
    # the hub is nearer to a leaf than another leaf
    assert truth.recall(1, np.array([3, 0, 1])) == 1
    assert truth.recall(1, np.array([3, 1, 2])) == pytest.approx(2 / 3)


def test_a_small_component_is_all_there_is_to_find() -> None:
    pair = sp.csr_array(sp.block_diag([np.ones((2, 2)), np.ones((4, 4)), np.ones((1, 1))]))
    truth = exact_truth(pair, np.array([0, 2, 6]), 3, c=0.5)
    assert truth.size.tolist() == [2, 3, 1]
    assert truth.recall(0, np.array([0, 1, -1])) == 1
    # nodes out of reach don't count
    assert truth.recall(0, np.array([0, 3, 4])) == 0.5
    assert truth.recall(2, np.array([6, -1, -1])) == 1


def test_members_are_ranked_by_the_symmetric_score() -> None:
    degree = np.array([1.0, 4.0, 1.0, 100.0])
    nodes, values = np.array([3, 1, 0, 2]), np.array([0.4, 0.3, 0.2, 0.2])
    # 0.4 / 10, 0.3 / 2 and 0.2 / 1; the source needs no score
    assert top_members(0, nodes, values, degree, 4).tolist() == [0, 2, 1, 3]
    assert top_members(0, nodes, values, degree, 2).tolist() == [0, 2]
    assert top_members(0, nodes, np.zeros(4), degree, 2).tolist() == [0]
    assert top_members(3, nodes, values, degree, 1).tolist() == [3]


def test_only_rows_that_can_be_filled_count() -> None:
    parts = sp.csr_array(sp.block_diag([np.ones((2, 2)), np.ones((3, 3))]))
    index = np.array([[0, 1, -1], [1, 0, -1], [2, 3, 4], [3, 2, -1], [4, 3, 2]])
    assert filled_share(parts, index) == pytest.approx(2 / 3)
    assert math.isnan(filled_share(parts, np.full((5, 4), -1)))
