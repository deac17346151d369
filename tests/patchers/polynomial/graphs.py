"""Random graphs and dense polynomials to compare with."""

import numpy as np
import scipy.sparse as sp


def random_adjacency(n: int, seed: int, degree: float = 4.0, weighted: bool = True) -> sp.csr_array:
    """Return a symmetric adjacency; its first nodes have more edges than others."""
    rng = np.random.default_rng(seed)
    share = np.arange(1, n + 1) ** -0.5
    ends = rng.choice(n, (2, int(degree * n)), p=share / share.sum())
    dense = np.zeros((n, n))
    dense[ends[0], ends[1]] = rng.random(ends.shape[1]) + 0.1 if weighted else 1.0
    np.fill_diagonal(dense, 0)
    return sp.csr_array(np.maximum(dense, dense.T))


def chebyshev_matrices(matrix: np.ndarray, order: int) -> np.ndarray:
    """Return T_0(M), …, T_K(M) as [K + 1, n, n]."""
    found = [np.eye(len(matrix)), matrix]
    while len(found) <= order:
        found.append(2 * matrix @ found[-1] - found[-2])
    return np.stack(found[: order + 1])


def check_best(index: np.ndarray, score: np.ndarray, exact: np.ndarray, exclude: int = -1) -> None:
    """Check that a row holds the largest entries of ``exact``, without those that are zero."""
    unit = np.abs(exact).max() / 2**18
    allowed = np.flatnonzero(np.abs(exact) > unit)
    allowed = allowed[allowed != exclude]
    chosen = index[index >= 0]
    count = min(len(index), len(allowed))
    assert len(set(chosen)) == len(chosen)
    assert exclude not in chosen
    assert count <= len(chosen)
    np.testing.assert_allclose(score[: len(chosen)], exact[chosen], atol=2 * unit)
    best = np.sort(exact[allowed])[::-1][:count]
    np.testing.assert_allclose(score[:count], best, atol=2 * unit)
    assert not score[len(chosen) :].any()
