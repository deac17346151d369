import numpy as np
import pytest
import scipy.sparse as sp
import torch

from herofilter.patchers import push
from herofilter.patchers.series import closed_form, series_top
from herofilter.spectral.adjacency import normalise


def random_adjacency(n: int = 60, seed: int = 0, symmetric: bool = True) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) * (rng.random((n, n)) < 4 / n)
    dense[:3] = dense[:, :3] = 0
    return sp.csr_array(np.maximum(dense, dense.T) if symmetric else dense)


def kernel_arguments(adjacency: sp.csr_array, p: int, ego_first: bool) -> tuple:
    n = adjacency.shape[0]
    graph = push.rescale(adjacency)
    space = push.workspace(graph, 1e-4)
    rows = (np.full((n, p), -1), np.zeros((n, p), dtype=np.float32))
    return (*graph, np.arange(n, dtype=np.int32), 0.5, 1e-4, ego_first, *space, *rows)


@pytest.mark.parametrize("ego_first", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("symmetric", [True, False])
def test_without_jit_bit_for_bit(monkeypatch, ego_first, weighted, symmetric):
    adjacency = random_adjacency(symmetric=symmetric)
    if not weighted:
        adjacency.data[:] = 1.0
    compiled = kernel_arguments(adjacency, 7, ego_first)
    push.push_rows(*compiled)
    for name in ("spread", "rank", "insert"):
        monkeypatch.setattr(push, name, getattr(push, name).py_func)
    plain = kernel_arguments(adjacency, 7, ego_first)
    push.push_rows.py_func(*plain)
    np.testing.assert_array_equal(plain[-2], compiled[-2])
    np.testing.assert_array_equal(plain[-1].view(np.int32), compiled[-1].view(np.int32))
    clean = kernel_arguments(adjacency, 7, ego_first)[-5]
    np.testing.assert_array_equal(plain[-5], clean)
    np.testing.assert_array_equal(compiled[-5], clean)
    assert (plain[-2] >= 0).sum() > 200


def test_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(push, "CHUNK", 16)
    adjacency = random_adjacency(200)
    nodes = np.random.default_rng(0).permutation(200)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(push.push_top(adjacency, nodes, 9, 0.5, 1e-5, True))
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
        index, score = push.push_top(adjacency, nodes, 60, 0.8, eps, True)
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
    index, score = push.push_top(adjacency, np.arange(60), 60, 0.8, eps, True)
    estimate = np.zeros_like(exact)
    row, col = np.nonzero(index >= 0)
    estimate[row, index[row, col]] = score[row, col]
    bound = eps * np.sqrt(np.outer(degree, degree))
    assert (exact - estimate <= bound + 1e-6).all()


def test_unit_of_the_weights_does_not_matter():
    adjacency = random_adjacency()
    index, score = push.push_top(adjacency, np.arange(60), 8, 0.5, 1e-4, True)
    other_index, other_score = push.push_top(adjacency * 1e6, np.arange(60), 8, 0.5, 1e-4, True)
    np.testing.assert_array_equal(index, other_index)
    np.testing.assert_allclose(score, other_score, rtol=1e-5)


def test_tiny_weights_do_not_overflow_the_work_arrays():
    dense = np.full((4, 4), 1e-300)
    dense[0, 1] = dense[1, 0] = 1.0
    index, _ = push.push_top(sp.csr_array(dense), np.arange(4), 4, 0.5, 1e-6, True)
    assert index[0, :2].tolist() == [0, 1]


@pytest.mark.parametrize("top", [push.push_top, series_top])
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
        for first in (0, 1):
            index, score = np.full(size, -1), np.zeros(size, dtype=np.float32)
            stop = first
            for node in rng.permutation(30):
                stop = push.insert(node, values[node], first, stop, index, score)
            best = sorted(range(30), key=lambda u: (-values[u], u))[: size - first]
            assert index[first:].tolist() == best
            assert (index[:first] == -1).all()
            assert stop == size


def test_progress_and_its_errors(monkeypatch):
    monkeypatch.setattr(push, "CHUNK", 25)
    calls = []
    push.push_top(
        random_adjacency(), np.arange(60), 3, 0.5, 1e-3, True, lambda *args: calls.append(args)
    )
    assert calls == [(25, 60), (50, 60), (60, 60)]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push.push_top(random_adjacency(), np.arange(60), 3, 0.5, 1e-3, True, stop)
