import numpy as np
import pytest
import scipy.sparse as sp

from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.spectral import normalised_adjacency, spectral_density


def cumulated(eigenvalues: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(eigenvalues), points, side="right") / eigenvalues.size


@pytest.mark.parametrize("heterophily", [0.1, 0.9])
@pytest.mark.parametrize("self_loops", [False, True])
def test_the_estimate_follows_the_exact_eigenvalues(heterophily: float, self_loops: bool) -> None:
    data = csbm(num_nodes=600, num_classes=3, heterophily=heterophily)
    matrix = normalised_adjacency(data.edge_index, 600, self_loops=self_loops)
    exact = np.linalg.eigvalsh(matrix.toarray())
    found = spectral_density(matrix)
    assert sum(found.shares) == pytest.approx(1)
    assert min(found.shares) >= 0
    # the share of eigenvalues below each bound, up to a bin to either side
    total = np.cumsum(found.shares)
    width = 2 / len(found.shares)
    bounds = np.array(found.bounds[1:])
    assert (total <= cumulated(exact, bounds + width) + 0.01).all()
    assert (total >= cumulated(exact, bounds - width) - 0.01).all()


def test_repeated_eigenvalues_have_their_share() -> None:
    # eight pairs of nodes (1 and -1), four nodes without edges (0)
    edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    matrix = sp.csr_array(sp.block_diag([*[edge] * 8, np.zeros((4, 4))]))
    found = spectral_density(matrix, bins=5)
    assert found.shares == pytest.approx((0.4, 0, 0.2, 0, 0.4), abs=0.01)


def test_a_single_probe_is_enough_for_many_nodes() -> None:
    data = csbm(num_nodes=20_000, num_classes=3)
    matrix = normalised_adjacency(data.edge_index, 20_000)
    one, many = (spectral_density(matrix, bins=20, probes=count) for count in (1, 8))
    assert np.abs(np.array(one.shares) - many.shares).max() < 0.01
    assert spectral_density(matrix, bins=20).probes == 10


def test_the_seed_decides() -> None:
    matrix = normalised_adjacency(csbm(num_nodes=200).edge_index, 200)
    first, again, other = (
        spectral_density(matrix, probes=2, seed=seed).shares for seed in (0, 0, 1)
    )
    assert first == again != other


def test_density_integrates_to_one() -> None:
    found = spectral_density(normalised_adjacency(csbm(num_nodes=100).edge_index, 100), bins=10)
    assert sum(found.density) * 0.2 == pytest.approx(1)
    assert found.centres[0] == pytest.approx(-0.9)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"bins": 0}, "bins must be at least 1 and order at least 2 (got 0 and 160)"),
        ({"probes": 0}, "probes must be at least 1 (got 0)"),
    ],
)
def test_mistakes(options: dict[str, int], text: str) -> None:
    with pytest.raises(ConfigError, match=text.replace("(", r"\(").replace(")", r"\)")):
        spectral_density(sp.csr_array(np.zeros((2, 2))), **options)
    with pytest.raises(ConfigError, match="at least one row"):
        spectral_density(sp.csr_array((0, 0)))
