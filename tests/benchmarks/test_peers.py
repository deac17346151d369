"""Every peer computes the vector that it is compared on: rows of a dense inverse."""

from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import peers
from benchmarks.peers import PACKAGES, PEERS, TOLERANCES, Peer, missing_peers
from herofilter.data import csbm
from herofilter.spectral.adjacency import adjacency_matrix

N = 40
SOURCES = np.array([7, 0, 31])


def graph(loops: bool) -> sp.csr_array:
    data = csbm(num_nodes=N, num_classes=3, average_degree=3, power_law=2.5, seed=2)
    return adjacency_matrix(data.edge_index, N, self_loops=loops)


@pytest.mark.parametrize("c", [0.5, 0.8])
@pytest.mark.parametrize("kind", PEERS, ids=lambda kind: kind.name)
def test_conventions(kind: type[Peer], c: float) -> None:
    if find_spec(kind.module) is None:
        pytest.skip(f"{kind.module} isn't installed")
    matrix = graph(kind.loops)
    peer = kind(matrix, c)
    found = peer.read(peer.call(SOURCES, 1e-8), SOURCES)
    walk = matrix.toarray() / matrix.sum(axis=1)[:, None]
    dense = (1 - c) * np.linalg.inv(np.eye(N) - c * walk)
    for source, (nodes, values) in zip(SOURCES, found, strict=True):
        assert np.unique(nodes).size == nodes.size
        vector = np.zeros(N)
        vector[nodes] = values
        assert np.abs(vector - dense[source]).max() < 2e-6
    assert peer.overhead() >= 0


def test_tolerances_go_down_by_halves() -> None:
    assert TOLERANCES[0] == 1e-4
    assert TOLERANCES[-1] == pytest.approx(1e-7, rel=0.03)
    assert np.allclose(np.divide(TOLERANCES[:-1], TOLERANCES[1:]), 2)


def test_absent_libraries_are_named_with_their_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PACKAGES == ("networkit", "pyg", "igraph", "scikit_network")
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "igraph" else object())
    assert missing_peers() == {
        "igraph": "the comparison with igraph needs the optional part 'bench', which isn't "
        'installed; install it with: pip install -e ".[bench]"'
    }
