import math

import pytest
import torch

from herofilter.data import csbm
from herofilter.theory import graph_spectrum, heterophily_spectrum
from tests.awkward import AWKWARD, no_edges


@pytest.mark.parametrize("name", AWKWARD)
def test_equals_the_sum_over_nodes(name: str) -> None:
    data = AWKWARD[name]()
    vectors = graph_spectrum(data).vectors.tolist()
    found = heterophily_spectrum(data)
    y, n = data.y.tolist(), data.num_nodes
    edges = {(i, j) for i, j in data.edge_index.t().tolist() if i != j and min(y[i], y[j]) >= 0}
    edges |= {(j, i) for i, j in edges}
    h = []
    for i in range(n):
        labels = [y[b] for a, b in edges if a == i]
        h.append(sum(label != y[i] for label in labels) / len(labels) if labels else 0.0)
    expected = [sum(vectors[j][i] * h[j] for j in range(n)) for i in range(n)]
    assert found.h.tolist() == pytest.approx(h, abs=1e-15)
    assert found.h_hat.tolist() == pytest.approx(expected, abs=1e-9)


def test_energy_adds_up_to_one_and_to_zero_without_edges() -> None:
    found = heterophily_spectrum(csbm(num_nodes=50))
    assert float(found.energy.sum()) == pytest.approx(1.0)
    assert float(found.h_hat.norm()) == pytest.approx(float(found.h.norm()))
    assert float(heterophily_spectrum(no_edges()).energy.sum()) == 0.0


def test_a_known_spectrum_is_taken() -> None:
    data = csbm(num_nodes=30)
    without = graph_spectrum(data, self_loops=False)
    found = heterophily_spectrum(data, without)
    assert found.eigenvalues is without.eigenvalues
    assert found.num_repeated == without.num_repeated
    assert not torch.allclose(found.h_hat, heterophily_spectrum(data).h_hat)


def test_the_leading_coefficient_grows_with_the_root_of_the_nodes() -> None:
    small, large = (heterophily_spectrum(csbm(num_nodes=n, heterophily=0.8)) for n in (100, 400))
    assert small.largest > 1
    assert large.largest / small.largest == pytest.approx(math.sqrt(4), rel=0.1)
