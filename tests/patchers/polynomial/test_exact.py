"""Exact rows of polynomials and of words, against dense matrices."""

import re
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from herofilter.errors import ConfigError, OutOfMemoryError
from herofilter.patchers.polynomial import exact as module
from herofilter.patchers.polynomial.exact import polynomial_top, word_top
from herofilter.spectral.adjacency import normalise, normalised_adjacency
from tests import awkward
from tests.events import steps
from tests.patchers.polynomial.graphs import chebyshev_matrices, check_best, random_adjacency

WORDS = [(), (False,), (True,), *product((False, True), repeat=2), (False, True, True)]


def theta(filters: int, terms: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((filters, terms))


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("order", [0, 1, 2, 7, 10])
def test_rows_hold_the_largest_entries(order: int, exclude_self: bool) -> None:
    matrix, coefficients = normalise(random_adjacency(150, order)), theta(2, order + 1)
    nodes = np.random.default_rng(1).permutation(150)
    found = polynomial_top(matrix, coefficients, nodes, [7, 20], exclude_self=exclude_self)
    tables = chebyshev_matrices(matrix.toarray(), order)
    for one, weights, width in zip(found, coefficients, (7, 20), strict=True):
        assert one.index.shape == (150, width)
        dense = np.tensordot(weights, tables, 1)
        for row, v in enumerate(nodes):
            exclude = v if exclude_self else -1
            check_best(one.index[row], one.score[row], dense[v], exclude)


@pytest.mark.parametrize("words", [WORDS, [(True, False, False)]])
def test_words_are_products_from_left_to_right(words: list[tuple[bool, ...]]) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((90, 90)) * (rng.random((90, 90)) < 0.05)
    matrix, coefficients = normalise(sp.csr_array(dense)), theta(2, len(words), 1)
    nodes = np.arange(90)
    found = word_top(matrix, words, coefficients, nodes, [5, 9], with_basis=True)
    left, tables = matrix.toarray(), []
    for word in words:
        result = np.eye(90)
        for transposed in word:
            result = result @ (left.T if transposed else left)
        tables.append(result)
    for one, weights in zip(found, coefficients, strict=True):
        result = np.tensordot(weights, np.stack(tables), 1)
        for v in nodes:
            check_best(one.index[v], one.score[v], result[v], v)
        entries = np.stack(tables)[:, nodes[:, None], one.index].transpose(1, 2, 0)
        entries[one.index < 0] = 0
        np.testing.assert_allclose(one.basis, entries, atol=1e-6)


def test_rows_and_not_columns_of_a_directed_matrix() -> None:
    chain = sp.csr_array(np.diag([0.5, 0.25], 1))
    found = polynomial_top(chain, np.array([[0.0, 1.0]]), np.arange(3), [1])[0]
    assert found.index.tolist() == [[1], [2], [-1]]
    np.testing.assert_array_equal(found.score, [[0.5], [0.25], [0.0]])


def test_basis_gives_the_scores() -> None:
    matrix, coefficients = normalise(random_adjacency(100, 3)), theta(2, 9)
    found = polynomial_top(matrix, coefficients, np.arange(100), [6, 6], with_basis=True)
    tables = chebyshev_matrices(matrix.toarray(), 8)
    for one, weights in zip(found, coefficients, strict=True):
        assert one.basis is not None
        np.testing.assert_allclose(one.basis @ weights, one.score, atol=1e-5)
        chosen = tables[:, np.arange(100)[:, None], one.index].transpose(1, 2, 0)
        np.testing.assert_allclose(
            one.basis, np.where(one.index[..., None] < 0, 0, chosen), atol=1e-5
        )
    assert polynomial_top(matrix, coefficients, np.arange(3), [6, 6])[0].basis is None


def test_equal_scores_go_to_the_lower_node() -> None:
    star = np.zeros((30, 30))
    star[11] = star[:, 11] = 1.0
    star[11, 11] = 0.0
    coefficients = np.array([[0.0, 0.3, 0.5, 0.2]])
    found = polynomial_top(normalise(sp.csr_array(star)), coefficients, np.array([11, 4]), [5])[0]
    assert found.index.tolist() == [[0, 1, 2, 3, 4], [11, 0, 1, 2, 3]]


def test_nodes_that_are_not_reached_are_padding_even_after_negative_scores() -> None:
    pairs = sp.csr_array(np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]))
    found = polynomial_top(pairs, np.array([[0.0, -1.0]]), np.arange(6), [3])[0]
    assert found.index.tolist() == [[v ^ 1, -1, -1] for v in range(6)]
    assert found.score.tolist() == [[-1.0, 0.0, 0.0]] * 6


def test_neither_threads_nor_other_rows_matter() -> None:
    matrix, coefficients = normalise(random_adjacency(1100, 5)), theta(2, 8)
    before = torch.get_num_threads()
    results, calls = [], []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found = polynomial_top(
                matrix, coefficients, np.arange(1100), [4, 3], callback=calls.append
            )
            results.append(found)
    finally:
        torch.set_num_threads(before)
    assert steps(calls)[:3] == [(512, 1100), (1024, 1100), (1100, 1100)]
    nodes = np.array([1099, 3, 700, 3])
    some = polynomial_top(matrix, coefficients, nodes, [4, 3])
    for f in range(2):
        np.testing.assert_array_equal(results[0][f].index, results[1][f].index)
        np.testing.assert_array_equal(results[0][f].score, results[1][f].score)
        np.testing.assert_array_equal(results[0][f].index[nodes], some[f].index)
        np.testing.assert_array_equal(results[0][f].score[nodes], some[f].score)


@pytest.mark.parametrize("name", awkward.AWKWARD)
def test_awkward_graphs(name: str) -> None:
    data = awkward.AWKWARD[name]()
    n = data.num_nodes
    matrix = normalised_adjacency(data.edge_index, n, data.get("edge_weight"), self_loops=False)
    coefficients = theta(1, 5)
    found = polynomial_top(matrix, coefficients, np.arange(n), [4])[0]
    dense = np.tensordot(coefficients[0], chebyshev_matrices(matrix.toarray(), 4), 1)
    for v in range(n):
        check_best(found.index[v], found.score[v], dense[v], v)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, nodes = normalise(random_adjacency(10, 0)), np.arange(10)
    message = (
        "coefficients must have a row per width and a column per term "
        "(got [1, 3] for 2 widths and 3 terms)"
    )
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        polynomial_top(matrix, theta(1, 3), nodes, [2, 2])
    with pytest.raises(ConfigError, match="for 1 widths and 1 terms"):
        word_top(matrix, [(True,)], theta(1, 2), nodes, [2])
    monkeypatch.setattr(module, "BLOCK", 2**50)
    with pytest.raises(OutOfMemoryError, match=r"^exact rows of 10 nodes needs .* patcher=local$"):
        polynomial_top(matrix, theta(1, 3), nodes, [2])


def jit_cases() -> dict[str, np.ndarray]:
    matrix = normalise(random_adjacency(12, 0, 2.0))
    found = polynomial_top(matrix, theta(2, 4), np.arange(12), [3, 2], with_basis=True)
    found += word_top(matrix, WORDS[:4], theta(1, 4), np.arange(3), [3])
    arrays = {f"index-{i}": one.index for i, one in enumerate(found)}
    arrays |= {f"score-{i}": one.score for i, one in enumerate(found)}
    return arrays | {"basis": found[0].basis}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    for name, expected in jit_cases().items():
        np.testing.assert_array_equal(without_jit[name], expected, name)
