import numba
import numpy as np
import pytest
import torch

from herofilter.errors import GraphError
from herofilter.spectral import dense_scores, sampled_scores, scores


@pytest.fixture(params=["jit", "python"])
def mode(request, monkeypatch):
    if request.param == "python":
        for kernel in ("score_entries", "response_gradient"):
            monkeypatch.setattr(scores, kernel, getattr(scores, kernel).py_func)
    return request.param


# more rows than two blocks of the kernel hold
def problem(rows=140, columns=37, size=5, width=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(columns, size, generator=generator, dtype=dtype)
    response = torch.randn(size, generator=generator, dtype=dtype).requires_grad_()
    nodes = torch.randint(columns, (rows,), generator=generator)
    index = torch.randint(-1, columns, (rows, width), generator=generator)
    return vectors, response, nodes, index


def oracle(vectors, response, nodes, index, right=None):
    chosen = dense_scores(vectors, response, nodes, right).gather(1, index.clamp(min=0))
    return torch.where(index >= 0, chosen, 0)


@pytest.mark.parametrize("two_sided", [False, True])
def test_scores_and_gradient_equal_the_dense_formula(mode, two_sided):
    vectors, response, nodes, index = problem()
    right = vectors.flip(0) if two_sided else None
    upstream = torch.randn(index.shape, dtype=torch.float64)
    expected = oracle(vectors, response, nodes, index, right)
    (gradient,) = torch.autograd.grad(expected, response, upstream)
    found = sampled_scores(vectors, response, nodes, index, right)
    torch.testing.assert_close(found, expected)
    assert bool((found[index < 0] == 0).all())
    torch.testing.assert_close(torch.autograd.grad(found, response, upstream)[0], gradient)


def test_gradient_equals_finite_differences(mode):
    vectors, response, nodes, index = problem(rows=70)
    assert torch.autograd.gradcheck(lambda g: sampled_scores(vectors, g, nodes, index), (response,))


def test_dense_scores_are_rows_of_the_product():
    vectors, response, _, _ = problem()
    expected = vectors @ torch.diag(response) @ vectors.T
    torch.testing.assert_close(dense_scores(vectors, response, slice(3, 9)), expected[3:9])
    rows = torch.tensor([5, 1, 5])
    torch.testing.assert_close(dense_scores(vectors, response, rows), expected[rows])


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_results_do_not_depend_on_the_number_of_threads():
    vectors, response, nodes, index = problem(1000, 200, 150, 8, torch.float32)
    results = []
    before, kept = torch.get_num_threads(), numba.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found = sampled_scores(vectors, response, nodes, index)
            results.append((found, torch.autograd.grad(found.sin().sum(), response)[0]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
    assert numba.get_num_threads() == kept


def test_padding_gets_no_gradient_and_awkward_layouts_are_taken(mode):
    vectors, response, nodes, index = problem()
    nothing = sampled_scores(vectors, response, nodes, torch.full_like(index, -1))
    assert torch.autograd.grad(nothing.sum(), response)[0].abs().max() == 0
    strided = vectors.T.contiguous().T
    found = sampled_scores(strided, response.float(), nodes.int(), index.T.contiguous().T)
    torch.testing.assert_close(found, oracle(vectors, response, nodes, index), rtol=1e-5, atol=1e-5)
    empty = sampled_scores(vectors, response, nodes[:0], index[:0])
    assert empty.shape == (0, 3)
    assert torch.autograd.grad(empty.sum(), response)[0].tolist() == [0.0] * 5


def test_a_single_precision_sum_is_accurate():
    vectors, response, nodes, index = problem(64, 300, 300, 16, torch.float32)
    exact = oracle(vectors.double(), response.double(), nodes, index)
    found = sampled_scores(vectors, response, nodes, index)
    np.testing.assert_allclose(found.detach(), exact.detach(), atol=1e-4)


def test_indices_outside_the_graph_are_refused():
    vectors, response, nodes, index = problem()
    with pytest.raises(GraphError, match=r"nodes must hold indices from 0 to 36 \(got -1 to"):
        sampled_scores(vectors, response, nodes.index_fill(0, torch.tensor([4]), -1), index)
    with pytest.raises(GraphError, match=r"index must hold indices from -1 to 36 \(got .* to 37\)"):
        sampled_scores(vectors, response, nodes, index.index_fill(1, torch.tensor([0]), 37))
    with pytest.raises(GraphError, match=r"got \(140, 3\) for 2 nodes and \(5,\) for 5"):
        sampled_scores(vectors, response, nodes[:2], index)
    with pytest.raises(GraphError, match=r"response a value per eigenvector .* \(4,\) for 5"):
        sampled_scores(vectors, response[:4], nodes, index)
