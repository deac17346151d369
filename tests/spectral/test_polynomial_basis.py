"""Polynomials of sparse matrices against dense ones."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

from herofilter.spectral import normalised_adjacency, polynomial_basis
from herofilter.spectral.polynomial_basis import ChebyshevBasis, PolynomialBasis, WordBasis
from tests.awkward import AWKWARD

WORDS = [word for length in range(4) for word in product((False, True), repeat=length)]
GRAPHS = ["plain", "directed", "isolated_nodes", "self_loops", "weighted", "no_edges"]


def matrix_of(name: str, directed: str) -> sp.csr_array:
    data = AWKWARD[name]()
    return normalised_adjacency(
        data.edge_index, 10, data.get("edge_weight"), self_loops=False, directed=directed
    )


def bases(name: str) -> list[tuple[PolynomialBasis, list[Tensor]]]:
    """Return each basis of a graph with its matrices, dense."""
    symmetric, kept = matrix_of(name, "symmetrise"), matrix_of(name, "keep")
    values, vectors = np.linalg.eigh(symmetric.toarray())
    polynomials = [
        vectors @ np.diag(chebyshev.chebval(values, np.eye(6)[k])) @ vectors.T for k in range(6)
    ]
    words = []
    for word in WORDS:
        dense = np.eye(10)
        for transposed in word:
            dense = (kept.T if transposed else kept).toarray() @ dense
        words.append(dense)
    pairs = (ChebyshevBasis(symmetric, 5), polynomials), (WordBasis(kept, WORDS), words)
    return [(basis, [torch.from_numpy(one).float() for one in dense]) for basis, dense in pairs]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("width", [3, 8])
def test_responses_and_gradients_against_dense_matrices(name: str, width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    for basis, dense in bases(name):
        hidden = torch.randn(10, width, generator=generator, requires_grad=True)
        theta = torch.randn(2, basis.num_terms, generator=generator, requires_grad=True)
        weights = torch.randn(2, 10, width, generator=generator)
        found = basis.respond(hidden, theta)
        expected = torch.einsum("fk,kij,jh->fih", theta, torch.stack(dense), hidden)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
        slopes = torch.autograd.grad((found * weights).sum(), [hidden, theta])
        right = torch.autograd.grad((expected * weights).sum(), [hidden, theta])
        for one, other in zip(slopes, right, strict=True):
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
        with torch.no_grad():
            torch.testing.assert_close(basis.respond(hidden, theta), found)


@pytest.mark.parametrize("order", [1, 2, 3, 10])
@pytest.mark.parametrize("width", [8, 24])
def test_one_call_agrees_with_one_product_per_order(
    order: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    basis = ChebyshevBasis(matrix_of("weighted", "symmetrise"), order)
    hidden, upstream, theta = example(order, width)
    found = all_results(basis, hidden, upstream, theta)
    counted = []
    multiply = polynomial_basis.multiply_sparse

    def count(matrix: Tensor, dense: Tensor) -> Tensor:
        counted.append(matrix)
        return multiply(matrix, dense)

    monkeypatch.setattr(polynomial_basis, "multiply_sparse", count)
    monkeypatch.setattr(ChebyshevBasis, "_in_one_call", lambda self, dense: False)
    expected = all_results(basis, hidden, upstream, theta)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5, err_msg=name)
    assert len(counted) == 3 * order


def example(order: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return H, the gradients of two responses, and their coefficients."""
    generator = torch.Generator().manual_seed(0)
    shapes = (10, width), (2, 10, width), (2, order + 1)
    hidden, upstream, theta = (torch.randn(shape, generator=generator) for shape in shapes)
    return hidden, upstream, theta


def all_results(
    basis: ChebyshevBasis, hidden: Tensor, upstream: Tensor, theta: Tensor
) -> dict[str, np.ndarray]:
    return {
        "sums": basis.sums(hidden, theta).numpy(),
        "adjoint": basis.adjoint(upstream, theta).numpy(),
        "slopes": basis.slopes(hidden, upstream).numpy(),
    }


def jit_cases() -> dict[str, np.ndarray]:
    """Return what the compiled recurrences give."""
    return all_results(ChebyshevBasis(matrix_of("weighted", "symmetrise"), 4), *example(4, 8))


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    for name, array in jit_cases().items():
        np.testing.assert_allclose(without_jit[name], array, rtol=1e-5, atol=1e-6)
