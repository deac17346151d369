import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings

from herofilter import memory
from herofilter.errors import CacheWarning, ConfigError, GraphError, OutOfMemoryError
from herofilter.files import save_tensors
from herofilter.spectral import (
    cache,
    cached_singular_basis,
    eigen,
    normalised_adjacency,
    singular_decompose,
)
from herofilter.spectral.subspace import Extremes
from tests.spectral.graphs import edge_lists


def directed_matrix(num_nodes, num_edges, seed=0, self_loops=False):
    edges = np.random.default_rng(seed).integers(0, num_nodes, (2, num_edges))
    return normalised_adjacency(
        torch.from_numpy(edges), num_nodes, self_loops=self_loops, directed="keep"
    )


def reconstruct(basis):
    return ((basis.left * basis.values) @ basis.right.T).numpy()


def assert_orthonormal(vectors, atol=1e-5):
    gram = (vectors.T.double() @ vectors.double()).numpy()
    np.testing.assert_allclose(gram, np.eye(vectors.shape[1]), atol=atol)


@settings(deadline=None)
@given(edge_lists())
def test_full_decomposition_reconstructs_the_matrix(graph):
    for loops in (True, False):
        matrix = normalised_adjacency(
            graph.edge_index, graph.num_nodes, graph.edge_weight, self_loops=loops, directed="keep"
        )
        basis = singular_decompose(matrix)
        np.testing.assert_allclose(reconstruct(basis), matrix.toarray(), atol=1e-5)
        for tensor in (basis.values, basis.left, basis.right):
            assert tensor.dtype == torch.float32
            assert tensor.is_contiguous()
        assert bool((basis.values.diff() >= 0).all())
        assert bool(((basis.values >= 1e-6) & (basis.values <= 1)).all())
        # the Gram matrix knows σ² to about 1e-15, so the vectors of the smallest values are rough
        clear = basis.values > 1e-4
        assert_orthonormal(basis.left)
        assert_orthonormal(basis.right[:, clear])


def test_values_are_those_of_the_matrix():
    matrix = directed_matrix(60, 200)
    expected = np.linalg.svd(matrix.toarray(), compute_uv=False)
    expected = np.sort(expected[expected > 1e-6])
    values = singular_decompose(matrix).values
    np.testing.assert_allclose(values.numpy(), expected, atol=1e-6)


def test_null_space_is_left_out():
    # 0 → 1, 0 → 2: rank one, N = (1, 0, 0)ᵀ (0, 1, 1) / √2
    matrix = normalised_adjacency(
        torch.tensor([[0, 0], [1, 2]]), 4, self_loops=False, directed="keep"
    )
    basis = singular_decompose(matrix)
    torch.testing.assert_close(basis.values, torch.ones(1))
    torch.testing.assert_close(basis.left, torch.tensor([[1.0], [0.0], [0.0], [0.0]]))
    half = 0.5**0.5
    torch.testing.assert_close(basis.right, torch.tensor([[0.0], [half], [half], [0.0]]))


def test_rows_without_edges_are_exactly_zero():
    matrix = directed_matrix(200, 180, seed=3)
    basis = singular_decompose(matrix)
    silent = torch.from_numpy(np.diff(matrix.indptr) == 0)
    unheard = torch.from_numpy(np.diff(matrix.tocsc().indptr) == 0)
    assert int(silent.sum()) > 20
    assert int(unheard.sum()) > 20
    assert not basis.left[silent].any()
    assert not basis.right[unheard].any()


def test_matrix_of_zeros_has_no_pairs():
    basis = singular_decompose(sp.csr_array((5, 5)))
    assert basis.values.shape == (0,)
    assert basis.left.shape == basis.right.shape == (5, 0)


def test_sign_goes_by_the_left_vector():
    basis = singular_decompose(directed_matrix(40, 120))
    largest = basis.left.abs().argmax(dim=0)
    assert bool((basis.left[largest, torch.arange(basis.left.shape[1])] > 0).all())


def test_symmetric_matrix_gives_the_moduli_of_its_eigenvalues():
    edges = torch.from_numpy(np.random.default_rng(1).integers(0, 30, (2, 60)))
    matrix = normalised_adjacency(edges, 30)
    moduli = np.sort(np.abs(np.linalg.eigvalsh(matrix.toarray())))
    values = singular_decompose(matrix).values.numpy()
    np.testing.assert_allclose(values, moduli[-values.size :], atol=1e-6)


def test_cut_of_a_small_graph_keeps_the_largest():
    matrix = directed_matrix(60, 200)
    full, cut = singular_decompose(matrix), singular_decompose(matrix, 7)
    assert torch.equal(cut.values, full.values[-7:])
    torch.testing.assert_close(cut.left, full.left[:, -7:])
    torch.testing.assert_close(cut.right, full.right[:, -7:])


@pytest.mark.parametrize("num_edges", [3000, 700])
def test_sparse_route_finds_the_largest(monkeypatch, num_edges):
    monkeypatch.setattr(eigen, "_SMALL", 0)
    matrix = directed_matrix(600, num_edges)
    basis = singular_decompose(matrix, 70)
    expected = np.linalg.svd(matrix.toarray(), compute_uv=False)[:70][::-1]
    np.testing.assert_allclose(basis.values.numpy(), expected, atol=1e-4)
    assert_orthonormal(basis.left)
    assert_orthonormal(basis.right)
    back = matrix.T @ basis.left.numpy() - (basis.right * basis.values).numpy()
    there = matrix @ basis.right.numpy() - (basis.left * basis.values).numpy()
    assert np.linalg.norm(back, axis=0).max() < 1e-5
    assert np.linalg.norm(there, axis=0).max() < 5e-4
    assert torch.equal(basis.right, singular_decompose(matrix, 70).right)


def test_sparse_route_falls_back_to_the_full_decomposition(monkeypatch):
    matrix = directed_matrix(100, 400)
    exact = singular_decompose(matrix, 5)

    def failing(_, count, guard=None):
        return Extremes(torch.zeros(count), torch.zeros(100, count), residual=0.25)

    monkeypatch.setattr(eigen, "_SMALL", 0)
    monkeypatch.setattr(eigen, "largest_eigenpairs", failing)
    with pytest.warns(RuntimeWarning, match="falling back to the full"):
        basis = singular_decompose(matrix, 5)
    assert torch.equal(basis.left, exact.left)


def test_threads_change_nothing():
    # a star repeats its inner singular value, so the basis of its eigenspace isn't unique
    leaves = torch.arange(1, 300)
    edges = torch.stack([torch.zeros_like(leaves), leaves])
    matrix = normalised_adjacency(edges, 300, directed="keep")
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(singular_decompose(matrix))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for name, tensor in vars(found[0]).items():
        assert torch.equal(tensor, vars(found[1])[name])


def test_work_beyond_the_memory_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 21 * 2**30)
    with pytest.raises(OutOfMemoryError) as caught:
        singular_decompose(sp.csr_array(sp.eye_array(100_000)))
    assert str(caught.value) == (
        "the full singular-value decomposition of 100000 nodes needs 373 GiB (21 GiB are free); "
        "use the fast patcher or num_eigenpairs=512"
    )


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.0, 1.0]], r"must be square with at least one node \(got 1 x 2\)"),
        ([[0.0, float("nan")], [0.0, 0.0]], "must hold finite values only"),
        ([[0.0, 3.0], [0.0, 0.0]], r"must be at most 1 \(got 3\); normalise it first"),
    ],
)
def test_impossible_matrices_are_refused(matrix, message):
    with pytest.raises(GraphError, match=message):
        singular_decompose(sp.csr_array(matrix))


def test_number_of_pairs_is_checked():
    with pytest.raises(ConfigError, match="must be at least 1"):
        singular_decompose(directed_matrix(5, 5), 0)


def test_second_call_reads_the_file(tmp_path, monkeypatch):
    matrix = directed_matrix(30, 60)
    first = cached_singular_basis(matrix, 9, tmp_path)

    def forbidden(*_):
        raise RuntimeError("decomposed again")

    monkeypatch.setattr(cache, "singular_decompose", forbidden)
    second = cached_singular_basis(matrix, 9, tmp_path)
    for name, tensor in vars(first).items():
        assert torch.equal(tensor, vars(second)[name])
    with pytest.raises(RuntimeError, match="decomposed again"):
        cached_singular_basis(matrix, 8, tmp_path)
    with pytest.raises(RuntimeError, match="decomposed again"):
        cached_singular_basis(sp.csr_array(matrix.T), 9, tmp_path)


def test_each_kind_has_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    matrix = normalised_adjacency(torch.tensor([[0], [1]]), 3)
    cached_singular_basis(matrix)
    cache.cached_eigenbasis(matrix)
    names = [
        path.name for folder in ("eigen", "singular") for path in (tmp_path / folder).iterdir()
    ]
    assert len(set(names)) == 2


def test_basis_without_pairs_is_cached(tmp_path):
    cached_singular_basis(sp.csr_array((4, 4)), folder=tmp_path)
    assert cached_singular_basis(sp.csr_array((4, 4)), folder=tmp_path).left.shape == (4, 0)


@pytest.mark.parametrize(
    ("values", "left", "right"), [((3,), (30, 3), (30, 2)), ((31,), (30, 31), (30, 31))]
)
def test_valid_file_with_other_content_is_computed_again(tmp_path, values, left, right):
    matrix = directed_matrix(30, 60)
    first = cached_singular_basis(matrix, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    shapes = {"values": values, "left": left, "right": right}
    save_tensors(path, {name: torch.zeros(shape) for name, shape in shapes.items()})
    with pytest.warns(CacheWarning, match="cached singular-value decomposition .* is damaged"):
        second = cached_singular_basis(matrix, folder=tmp_path)
    assert torch.equal(first.left, second.left)
