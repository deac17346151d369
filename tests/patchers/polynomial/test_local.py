"""Truncated rows of polynomials: their limit, their bounds and their certificates."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from herofilter.errors import ConfigError, GraphError
from herofilter.patchers.polynomial.bounds import error_factors
from herofilter.patchers.polynomial.exact import polynomial_top
from herofilter.patchers.polynomial.local import LocalPolynomial
from herofilter.patchers.polynomial.local_kernel import NO_LIMIT, local_space, recur, touch
from herofilter.patchers.polynomial.relation import PageRank, polynomial_relation
from herofilter.patchers.ppr import push_graph
from herofilter.patchers.relations import PushRelation
from herofilter.spectral.adjacency import normalise
from tests.patchers.polynomial.graphs import chebyshev_matrices, check_best, random_adjacency


def theta(filters: int, terms: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((filters, terms))


def exact_scores(adjacency: sp.csr_array, weights: np.ndarray) -> np.ndarray:
    tables = chebyshev_matrices(normalise(adjacency).toarray(), len(weights) - 1)
    return np.tensordot(weights, tables, 1)


class OneRow:
    """The scores of a truncated recurrence from ``v``, and the bound of their error."""

    def __init__(self, adjacency: sp.csr_array, weights: np.ndarray, v: int, eps: float) -> None:
        local = LocalPolynomial(adjacency, weights, eps)
        graph, space = local.graph, local_space(local.graph, len(weights) - 1)
        left_out = np.zeros(len(weights) - 1)
        count = touch(graph, space, v, 0)
        count, _, self.edges, _ = recur(graph, space, local.rule, eps, count, 0, NO_LIMIT, left_out)
        self.scores = np.zeros(adjacency.shape[0])
        nodes = space.nodes[:count]
        values = space.values[:count] @ weights
        self.scores[nodes] = values * graph.left[v] * graph.right[nodes]
        self.bound = float(error_factors(weights[None])[0] @ np.sqrt(left_out))


@pytest.mark.parametrize("seed", range(40))
def test_no_error_exceeds_its_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    adjacency = random_adjacency(60, seed, float(rng.uniform(1, 6)), bool(seed % 2))
    weights = rng.standard_normal(int(rng.integers(2, 12)))
    exact = exact_scores(adjacency, weights)
    for v, eps in zip(rng.integers(0, 60, 4), (1.0, 0.1, 0.03, 0.01), strict=True):
        row = OneRow(adjacency, weights, v, eps)
        assert np.abs(row.scores - exact[v]).max() <= row.bound + 1e-6


def test_the_bound_is_reached() -> None:
    # x₁ is the other node, and isn't expanded: x₂ lacks twice the source
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    row = OneRow(pair, np.array([0.0, 0.0, 1.0]), 0, 2.0)
    assert row.scores.tolist() == [-1.0, 0.0]
    assert row.bound == pytest.approx(2.0, rel=1e-3)
    assert row.bound >= 2.0


def test_error_factors_against_a_fine_grid() -> None:
    weights, x = theta(3, 9), np.cos(np.linspace(0, np.pi, 20_001))[1:-1]
    second = [np.ones_like(x), 2 * x]
    while len(second) < 8:
        second.append(2 * x * second[-1] - second[-2])
    for k in range(8):
        q = sum(2 * x * np.outer(weights[:, m], second[m - k - 1]) for m in range(k + 1, 9))
        largest = np.abs(q).max(axis=1)
        found = error_factors(weights)[:, k]
        assert (largest <= found).all()
        assert (found <= 1.001 * largest).all()


@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_small_limit_gives_the_exact_rows(
    weighted: bool, reorder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reorder:
        monkeypatch.setattr(push_graph, "REORDER_FROM", 0)
    adjacency, weights = random_adjacency(120, 2, 4.0, weighted), theta(2, 8)
    nodes = np.array([5, 0, 119, 64])
    found = LocalPolynomial(adjacency, weights, 1e-12).top_of_each(nodes, [6, 9], with_basis=True)
    expected = polynomial_top(normalise(adjacency), weights, nodes, [6, 9], with_basis=True)
    for f, (one, other) in enumerate(zip(found, expected, strict=True)):
        dense = exact_scores(adjacency, weights[f])
        for row, v in enumerate(nodes):
            check_best(one.index[row], one.score[row], dense[v], v)
        np.testing.assert_allclose(one.score, other.score, atol=1e-4)
        if weighted:
            np.testing.assert_array_equal(one.index, other.index)
            np.testing.assert_allclose(one.basis, other.basis, atol=1e-5)


def test_equal_scores_go_to_the_lower_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_graph, "REORDER_FROM", 0)
    star = np.zeros((30, 30))
    star[11] = star[:, 11] = 1.0
    star[11, 11] = 0.0
    local = LocalPolynomial(sp.csr_array(star), np.array([0.0, 0.3, 0.5, 0.2]), 1e-9)
    found = local.top(np.array([11, 4]), 6)
    assert found.index.tolist() == [[11, 0, 1, 2, 3, 4], [4, 11, 0, 1, 2, 3]]


def test_the_node_itself_comes_first_or_competes() -> None:
    adjacency, weights = random_adjacency(50, 0), theta(1, 6)[0]
    dense = exact_scores(adjacency, weights)
    nodes = np.arange(50)
    first = LocalPolynomial(adjacency, weights, 1e-9).top(nodes, 5)
    np.testing.assert_array_equal(first.index[:, 0], nodes)
    np.testing.assert_allclose(first.score[:, 0], np.diag(dense), atol=1e-5)
    ranked = LocalPolynomial(adjacency, weights, 1e-9, ego_first=False).top(nodes, 5)
    for v in nodes:
        check_best(first.index[v, 1:], first.score[v, 1:], dense[v], v)
        check_best(ranked.index[v], ranked.score[v], dense[v])


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_a_certified_row_lacks_no_better_node(margin: float) -> None:
    shares = []
    for seed in range(6):
        adjacency = random_adjacency(150, seed)
        weights = theta(1, 7, seed)[0] * 0.5 ** np.arange(7)
        exact = exact_scores(adjacency, weights)
        step = np.abs(exact).max(axis=1) / 2**18
        np.fill_diagonal(exact, -np.inf)
        found = LocalPolynomial(adjacency, weights, 0.05, True, 6000, margin).top(np.arange(150), 6)
        assert found.certified is not None
        for v in np.flatnonzero(found.certified):
            row = found.index[v, 1:]
            outside = np.delete(exact[v], row[row >= 0])
            lowest = exact[v, row[row >= 0]].min() if (row >= 0).all() else -np.inf
            if np.isfinite(lowest):
                allowed = lowest + margin * max(lowest, 0.0) + 3 * step[v]
                outside = outside[np.abs(outside) > step[v]]
                assert outside.max() <= allowed
        shares.append(found.certified.mean())
    assert 0 < np.mean(shares) < 1


def test_a_larger_budget_certifies_more_until_all_are() -> None:
    adjacency, weights = random_adjacency(150, 0), theta(1, 7)[0] * 0.5 ** np.arange(7)
    shares, edges = [], []
    for refine in (1, 10_000, 10**7):
        found = LocalPolynomial(adjacency, weights, 0.05, True, refine, 0.0).top(np.arange(150), 6)
        assert found.certified is not None
        shares.append(found.certified.mean())
        edges.append(found.edges)
    assert shares[0] < shares[1] < shares[2] == 1.0
    coarse = LocalPolynomial(adjacency, weights, 0.05).top(np.arange(150), 6)
    assert coarse.certified is None
    longest = np.diff(adjacency.indptr).max()
    assert coarse.edges == edges[0] < edges[1] <= coarse.edges + 150 * (10_000 + longest)


def test_what_cannot_be_certified_keeps_its_last_complete_round() -> None:
    """A budget that ends within a round leaves the row of the round before, and its basis."""
    adjacency, weights = random_adjacency(150, 1), theta(1, 7)[0]
    nodes = np.arange(150)
    coarse = LocalPolynomial(adjacency, weights, 0.05).top_of_each(nodes, [6], with_basis=True)[0]
    local = LocalPolynomial(adjacency, weights, 0.05, True, coarse.edges // 150 + 1, 0.0)
    found = local.top_of_each(nodes, [6], with_basis=True)[0]
    assert found.certified is not None
    doubtful = ~found.certified
    same = (found.index == coarse.index).all(axis=1)
    assert (same & doubtful).any()
    assert found.basis is not None
    assert coarse.basis is not None
    np.testing.assert_allclose(found.basis @ weights, found.score, atol=1e-5)
    np.testing.assert_array_equal(found.basis[same], coarse.basis[same])


def test_neither_threads_nor_other_rows_matter() -> None:
    adjacency, weights = random_adjacency(1100, 4), theta(2, 6)
    local = LocalPolynomial(adjacency, weights, 1e-2, refine=2000)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(local.top_of_each(np.arange(1100), [4, 3]))
    finally:
        torch.set_num_threads(before)
    nodes = np.array([1099, 3, 700, 3])
    some = local.top_of_each(nodes, [4, 3])
    for f in range(2):
        for name in ("index", "score", "certified"):
            one, other = (getattr(result[f], name) for result in results)
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one[nodes], getattr(some[f], name))
        assert results[0][f].edges == results[1][f].edges


def test_pagerank_is_push_to_the_bit() -> None:
    adjacency, nodes = random_adjacency(300, 0), np.arange(300)
    relation = polynomial_relation(adjacency, PageRank(0.7), eps=1e-3, refine=500)
    expected = PushRelation(adjacency, 0.7, 1e-3, True, 500, 0.01).top(nodes, 8)
    found = relation.top(nodes, 8)
    for name in ("index", "score", "certified"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.edges == expected.edges
    plain = polynomial_relation(adjacency, PageRank(0.7)).top(nodes, 8)
    default = PushRelation(adjacency, 0.7, 1e-5, True).top(nodes, 8)
    np.testing.assert_array_equal(plain.score, default.score)


def test_other_coefficients_are_a_local_polynomial() -> None:
    adjacency, weights, nodes = random_adjacency(80, 0), theta(1, 5)[0], np.arange(80)
    found = polynomial_relation(adjacency, weights, eps=1e-3).top(nodes, 8)
    expected = LocalPolynomial(adjacency, weights, 1e-3).top(nodes, 8)
    np.testing.assert_array_equal(found.index, expected.index)


def test_errors() -> None:
    adjacency = random_adjacency(10, 0)
    directed = sp.csr_array(np.diag(np.ones(3), 1))
    message = (
        "the adjacency must be symmetric for a local polynomial (got one with directed edges); "
        "symmetrise it, or use word_top on a small graph"
    )
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        LocalPolynomial(directed, theta(1, 3))
    two = LocalPolynomial(adjacency, theta(2, 3))
    message = "top must have one filter (got 2); use top_of_each"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        two.top(np.arange(3), 4)
    message = "widths must have one entry per filter (got 1 for 2 filters)"
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        two.top_of_each(np.arange(3), [4])
    with pytest.raises(ConfigError, match=r"^c must be at least 0 and below 1 \(got 1\)$"):
        PageRank(1)


def jit_cases() -> dict[str, np.ndarray]:
    local = LocalPolynomial(random_adjacency(30, 0, 2.0), theta(2, 5), 0.05, refine=300)
    found = local.top_of_each(np.arange(30), [3, 4], with_basis=True)
    names = ("index", "score", "certified", "basis")
    return {f"{name}-{f}": getattr(one, name) for f, one in enumerate(found) for name in names}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    for name, expected in jit_cases().items():
        np.testing.assert_array_equal(without_jit[name], expected, name)
