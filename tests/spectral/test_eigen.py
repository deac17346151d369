import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings

from herofilter import memory
from herofilter.errors import ConfigError, GraphError, OutOfMemoryError
from herofilter.spectral import eigen, eigen_decompose, eigen_memory, normalised_adjacency
from herofilter.spectral.subspace import Extremes, largest_eigenpairs
from tests.spectral.graphs import edge_lists, random_matrix


def reconstruct(basis):
    return ((basis.vectors * basis.eigenvalues) @ basis.vectors.T).numpy()


@settings(deadline=None)
@given(edge_lists())
def test_full_decomposition_reconstructs_the_matrix(graph):
    matrix = normalised_adjacency(graph.edge_index, graph.num_nodes, graph.edge_weight)
    basis = eigen_decompose(matrix)
    np.testing.assert_allclose(reconstruct(basis), matrix.toarray(), atol=1e-5)
    gram = basis.vectors.T @ basis.vectors
    np.testing.assert_allclose(gram.numpy(), np.eye(graph.num_nodes), atol=1e-5)
    assert basis.eigenvalues.dtype == basis.vectors.dtype == torch.float32
    assert basis.vectors.is_contiguous()
    assert bool((basis.eigenvalues.diff() >= 0).all())
    assert float(basis.eigenvalues.abs().max()) <= 1


def test_sign_makes_the_first_of_the_largest_entries_positive():
    # the eigenvectors (1, ±1) / √2 have two entries of equal size
    basis = eigen_decompose(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    expected = torch.tensor([[1.0, 1.0], [-1.0, 1.0]]) / 2**0.5
    torch.testing.assert_close(basis.vectors, expected)


@pytest.mark.parametrize("num_eigenpairs", [60, 61, 1000])
def test_truncated_equals_full_when_nothing_is_cut(num_eigenpairs):
    matrix = random_matrix(60, 100)
    full, truncated = eigen_decompose(matrix), eigen_decompose(matrix, num_eigenpairs)
    assert torch.equal(full.eigenvalues, truncated.eigenvalues)
    assert torch.equal(full.vectors, truncated.vectors)


def test_cut_of_a_small_graph_keeps_the_largest_magnitudes():
    matrix = random_matrix(60, 100)
    full, cut = eigen_decompose(matrix), eigen_decompose(matrix, 7)
    kept = full.eigenvalues.abs().argsort(descending=True)[:7].sort().values
    assert torch.equal(cut.eigenvalues, full.eigenvalues[kept])
    assert torch.equal(cut.vectors, full.vectors[:, kept])


def test_of_a_pair_of_opposite_eigenvalues_the_positive_is_kept():
    basis = eigen_decompose(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), 1)
    assert basis.eigenvalues.tolist() == [1.0]


# the second graph has hundreds of components, so 1 is a repeated eigenvalue
@pytest.mark.parametrize("num_edges", [3000, 560])
def test_sparse_route_finds_both_ends_with_all_copies(monkeypatch, num_edges):
    monkeypatch.setattr(eigen, "_SMALL", 0)
    matrix = random_matrix(600, num_edges)
    count = 74
    spectrum = np.linalg.eigvalsh(matrix.toarray())
    expected = spectrum[np.argsort(-np.abs(spectrum))[:count]]
    basis = eigen_decompose(matrix, count)
    magnitudes = np.sort(np.abs(basis.eigenvalues.numpy()))
    np.testing.assert_allclose(magnitudes, np.sort(np.abs(expected)), atol=2e-5)
    gram = (basis.vectors.T @ basis.vectors).numpy()
    np.testing.assert_allclose(gram, np.eye(count), atol=1e-5)
    residual = matrix @ basis.vectors.numpy() - (basis.vectors * basis.eigenvalues).numpy()
    assert np.linalg.norm(residual, axis=0).max() < 2e-4
    again = eigen_decompose(matrix, count)
    assert torch.equal(basis.vectors, again.vectors)


def test_sparse_route_survives_a_matrix_of_zeros():
    values, vectors, residual = largest_eigenpairs(sp.csr_array((50, 50)), 3)
    assert residual == 0
    assert values.tolist() == [0, 0, 0]
    torch.testing.assert_close(vectors.T @ vectors, torch.eye(3, dtype=torch.float64))


def failing(calls, succeed_at=None):
    def solve(matrix, count, guard=None):
        calls.append(guard)
        found = largest_eigenpairs(matrix, count, guard)
        return found if len(calls) == succeed_at else Extremes(*found[:2], residual=0.25)

    return solve


def test_second_try_has_a_wider_subspace(monkeypatch):
    calls = []
    monkeypatch.setattr(eigen, "_SMALL", 0)
    monkeypatch.setattr(eigen, "largest_eigenpairs", failing(calls, succeed_at=2))
    with pytest.warns(RuntimeWarning, match=r"within 0\.2; trying again with a subspace of 15"):
        eigen_decompose(random_matrix(100, 300), 5)
    assert calls == [None, 10]


def test_falls_back_to_the_full_decomposition(monkeypatch):
    matrix = random_matrix(100, 300)
    exact = eigen_decompose(matrix, 5)
    monkeypatch.setattr(eigen, "_SMALL", 0)
    monkeypatch.setattr(eigen, "largest_eigenpairs", failing([]))
    with pytest.warns(RuntimeWarning) as caught:
        basis = eigen_decompose(matrix, 5)
    assert str(caught[-1].message) == (
        "the 5 largest eigenpairs are known only to within 0.2; "
        "falling back to the full eigen-decomposition"
    )
    assert torch.equal(basis.vectors, exact.vectors)


def test_keeps_the_approximation_when_the_full_one_does_not_fit(monkeypatch):
    monkeypatch.setattr(eigen, "_SMALL", 0)
    monkeypatch.setattr(eigen, "largest_eigenpairs", failing([]))
    monkeypatch.setattr(eigen, "free_memory", lambda: 1000)
    with pytest.warns(RuntimeWarning) as caught:
        basis = eigen_decompose(random_matrix(100, 300), 5)
    assert "keeping it, since the full eigen-decomposition needs 352 KiB" in str(caught[-1].message)
    assert basis.vectors.shape == (100, 5)


def test_ordinary_graphs_give_no_warning(monkeypatch):
    monkeypatch.setattr(eigen, "_SMALL", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert eigen_decompose(random_matrix(300, 900), 20).vectors.shape == (300, 20)


def test_work_beyond_the_memory_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 21 * 2**30)
    diagonal = sp.csr_array(sp.eye_array(169343))
    with pytest.raises(OutOfMemoryError) as caught:
        eigen_decompose(diagonal)
    assert str(caught.value) == (
        "the full eigen-decomposition of 169343 nodes needs 961 GiB (21 GiB are free); "
        "use the fast patcher or num_eigenpairs=512"
    )
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    with pytest.raises(OutOfMemoryError, match=r"the 512-pair .* or a smaller num_eigenpairs$"):
        eigen_decompose(diagonal, 512)


def test_memory_grows_with_what_is_kept():
    assert eigen_memory(100_000, 100) < eigen_memory(100_000, 1000) < eigen_memory(100_000)
    assert eigen_memory(1000) == 36 * 1000**2


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], 'symmetric .* differ by 1.*directed="symmetrise"'),
        ([[0.0, float("nan")], [float("nan"), 0.0]], "must be symmetric"),
        ([[0.0, 1.0]], r"must be square with at least one node \(got 1 x 2\)"),
        ([[0.0, 3.0], [3.0, 0.0]], r"in \[-1, 1\] \(got -3 to 3\); normalise it first"),
    ],
)
def test_impossible_matrices_are_refused(matrix, message):
    with pytest.raises(GraphError, match=message):
        eigen_decompose(sp.csr_array(matrix))


def test_number_of_eigenpairs_is_checked():
    with pytest.raises(ConfigError, match="num_eigenpairs must be at least 1"):
        eigen_decompose(random_matrix(5, 5), 0)


def test_threads_change_nothing():
    # a star repeats its inner eigenvalue, so the basis of its eigenspace isn't unique
    leaves = torch.arange(1, 300)
    matrix = normalised_adjacency(torch.stack([torch.zeros_like(leaves), leaves]), 300)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(eigen_decompose(matrix))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0].vectors, found[1].vectors)
    assert torch.equal(found[0].eigenvalues, found[1].eigenvalues)
