import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from herofilter.callbacks import Callback
from herofilter.patchers import row_filling
from herofilter.patchers.ppr import push, push_graph, ranking
from herofilter.patchers.ppr.series import closed_form, series_top
from herofilter.patchers.relations import PushRelation
from herofilter.spectral.adjacency import normalise
from tests.events import steps, stop_after


def random_adjacency(n: int = 60, seed: int = 0, symmetric: bool = True) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) * (rng.random((n, n)) < 4 / n)
    dense[:3] = dense[:, :3] = 0
    return sp.csr_array(np.maximum(dense, dense.T) if symmetric else dense)


def push_top(
    adjacency: sp.csr_array,
    nodes: np.ndarray,
    patch_size: int,
    c: float,
    eps: float,
    ego_first: bool,
    callback: Callback | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    found = PushRelation(adjacency, c, eps, ego_first).top(nodes, patch_size, callback)
    return found.index, found.score


def jit_cases() -> dict[str, np.ndarray]:
    results = {}
    for symmetric, weighted, ego, refine in itertools.product((0, 1), (0, 1), (0, 1), (0, 300)):
        matrix = random_adjacency(symmetric=bool(symmetric))
        if not weighted:
            matrix.data[:] = 1.0
        found = PushRelation(matrix, 0.5, 1e-3, bool(ego), refine, 0.01).top(np.arange(60), 7)
        name = f"symmetric={symmetric} weighted={weighted} ego={ego} refine={refine}"
        results |= {f"index {name}": found.index, f"score {name}": found.score.view(np.int32)}
        results |= {f"sure {name}": found.certified} if refine else {}
    return results


def test_without_jit_bit_for_bit(without_jit):
    compiled = jit_cases()
    assert len(compiled) == 16 * 2 + 8
    for name, expected in compiled.items():
        np.testing.assert_array_equal(without_jit[name], expected, name)
        if name.startswith("index"):
            assert (expected >= 0).sum() > 200
        if name.startswith("sure"):
            assert 0 < expected.mean() < 1


@pytest.mark.parametrize("refine", [0, 500])
@pytest.mark.parametrize("symmetric", [True, False])
def test_work_arrays_are_left_as_they_were(refine, symmetric):
    adjacency = random_adjacency(symmetric=symmetric)
    relation = PushRelation(adjacency, 0.5, 1e-3, True, refine, 0.0)
    space, clean = (push.workspace(relation.graph, 1e-3) for _ in range(2))
    index, score = np.full((60, 7), -1), np.zeros((60, 7), dtype=np.float32)
    sources = np.arange(60, dtype=np.int32)
    push.push_rows(
        relation.graph, space, relation.rule, sources, index, score, np.zeros(60, dtype=np.bool_)
    )
    np.testing.assert_array_equal(space.work, clean.work)
    assert (index >= 0).any()


@pytest.mark.parametrize("symmetric", [True, False])
def test_renumbered_nodes_have_the_same_patches(monkeypatch, symmetric):
    adjacency = random_adjacency(200, symmetric=symmetric)
    nodes = np.random.default_rng(0).permutation(200)[:77]
    plain = PushRelation(adjacency, 0.5, 1e-12, True).top(nodes, 9)
    monkeypatch.setattr(push_graph, "REORDER_FROM", 1)
    relation = PushRelation(adjacency, 0.5, 1e-12, True)
    assert not np.array_equal(relation.graph.ids, np.arange(200))
    moved = relation.top(nodes, 9)
    np.testing.assert_array_equal(moved.index, plain.index)
    np.testing.assert_allclose(moved.score, plain.score, rtol=1e-6)
    tied = sp.csr_array((np.ones_like(adjacency.data), adjacency.indices, adjacency.indptr))
    monkeypatch.setattr(push_graph, "REORDER_FROM", 10**9)
    expected = PushRelation(tied, 0.5, 1e-12, False).top(nodes, 9)
    monkeypatch.setattr(push_graph, "REORDER_FROM", 1)
    found = PushRelation(tied, 0.5, 1e-12, False).top(nodes, 9)
    # ties of 32-bit scores may break where sums of 64 bits were added in another order
    assert (found.index == expected.index).mean() > 0.98


def test_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(row_filling, "CHUNK", 16)
    adjacency = random_adjacency(200)
    nodes = np.random.default_rng(0).permutation(200)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(push_top(adjacency, nodes, 9, 0.5, 1e-5, True))
    finally:
        torch.set_num_threads(before)
    for index, score in results[1:]:
        np.testing.assert_array_equal(index, results[0][0])
        np.testing.assert_array_equal(score.view(np.int32), results[0][1].view(np.int32))


@pytest.mark.parametrize("symmetric", [True, False])
def test_scores_rise_to_the_exact_ones(symmetric):
    adjacency = random_adjacency(symmetric=symmetric)
    exact = closed_form(normalise(adjacency), 0.8)
    nodes = np.arange(60)
    gaps = []
    for eps in (1e-2, 1e-4, 1e-6, 1e-9):
        index, score = push_top(adjacency, nodes, 60, 0.8, eps, True)
        estimate = np.zeros_like(exact)
        row, col = np.nonzero(index >= 0)
        estimate[row, index[row, col]] = score[row, col]
        assert (estimate <= exact * (1 + 1e-5) + 1e-12).all()
        gaps.append((exact - estimate).max())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[3] < 1e-6


def test_error_is_bounded_by_the_degrees():
    adjacency = random_adjacency()
    degree = np.asarray(adjacency.sum(axis=1)) / adjacency.data.mean()
    degree[degree == 0] = 1
    exact = closed_form(normalise(adjacency), 0.8)
    eps = 1e-3
    index, score = push_top(adjacency, np.arange(60), 60, 0.8, eps, True)
    estimate = np.zeros_like(exact)
    row, col = np.nonzero(index >= 0)
    estimate[row, index[row, col]] = score[row, col]
    bound = eps * np.sqrt(np.outer(degree, degree))
    assert (exact - estimate <= bound + 1e-6).all()


def test_unit_of_the_weights_does_not_matter():
    adjacency = random_adjacency()
    index, score = push_top(adjacency, np.arange(60), 8, 0.5, 1e-4, True)
    other_index, other_score = push_top(adjacency * 1e6, np.arange(60), 8, 0.5, 1e-4, True)
    np.testing.assert_array_equal(index, other_index)
    np.testing.assert_allclose(score, other_score, rtol=1e-5)


def test_tiny_weights_do_not_overflow_the_work_arrays():
    dense = np.full((4, 4), 1e-300)
    dense[0, 1] = dense[1, 0] = 1.0
    index, _ = push_top(sp.csr_array(dense), np.arange(4), 4, 0.5, 1e-6, True)
    assert index[0, :2].tolist() == [0, 1]


@pytest.mark.parametrize("top", [push_top, series_top])
def test_ties_go_to_the_lower_id(top):
    star = np.zeros((7, 7))
    star[3] = star[:, 3] = 1
    matrix = sp.csr_array(star)
    matrix = normalise(matrix) if top is series_top else matrix
    index, score = top(matrix, np.array([3, 5]), 4, 0.5, 1e-9, True)
    assert index.tolist() == [[3, 0, 1, 2], [5, 3, 0, 1]]
    assert len(set(score[0, 1:].tolist())) == 1


def test_insert_keeps_the_best():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5):
        values = rng.integers(1, 6, 30).astype(np.float32)
        ids = np.arange(30)
        for first in (0, 1):
            index, score = np.full(size, -1), np.zeros(size, dtype=np.float32)
            stop = first
            for node in rng.permutation(30):
                stop = ranking.insert(node, values[node], first, stop, ids, index, score)
            best = sorted(range(30), key=lambda u: (-values[u], u))[: size - first]
            assert index[first:].tolist() == best
            assert (index[:first] == -1).all()
            assert stop == size


def test_progress_and_its_errors(monkeypatch):
    monkeypatch.setattr(row_filling, "CHUNK", 25)
    calls = []
    push_top(random_adjacency(), np.arange(60), 3, 0.5, 1e-3, True, calls.append)
    assert steps(calls) == [(25, 60), (50, 60), (60, 60)]

    with pytest.raises(KeyboardInterrupt):
        push_top(random_adjacency(), np.arange(60), 3, 0.5, 1e-3, True, stop_after(25))


def test_plain_graphs_are_weighed_as_all_are() -> None:
    matrix = random_adjacency(60)
    matrix.data[:] = 1.0
    # a node without edges
    matrix = sp.csr_array(sp.block_diag([matrix, sp.csr_array((1, 1))]))
    graph = push_graph.rescale(matrix)
    assert graph.symmetric
    for found, expected in zip(
        (graph.degree, graph.left, graph.weights), push_graph._weigh(matrix), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
