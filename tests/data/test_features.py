import pytest
import torch

from herofilter.data import degree_features, density, row_normalise, to_sparse, with_features
from tests import awkward

X = torch.tensor([[1.0, 0.0, -3.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


def test_density_of_both_forms() -> None:
    assert density(X) == density(to_sparse(X)) == pytest.approx(1 / 3)
    assert density(torch.empty(0, 4)) == 0.0


def test_to_sparse_keeps_every_value() -> None:
    sparse = to_sparse(X.double())
    assert sparse.layout == torch.sparse_csr
    assert sparse.dtype == torch.float32
    assert torch.equal(sparse.to_dense(), X)
    assert torch.equal(to_sparse(sparse).to_dense(), X)
    assert to_sparse(torch.zeros(2, 3)).to_dense().shape == (2, 3)


def test_row_normalise_of_both_forms() -> None:
    expected = torch.tensor([[0.25, 0.0, -0.75], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert torch.equal(row_normalise(X), expected)
    sparse = row_normalise(to_sparse(X))
    assert sparse.layout == torch.sparse_csr
    assert torch.equal(sparse.to_dense(), expected)


def test_degree_features_by_hand() -> None:
    # out-degrees 2, 0, 0; in-degrees 0, 1, 1
    features = degree_features(torch.tensor([[0, 0], [1, 2]]), 3)
    root = 2**0.5
    expected = torch.tensor([[root, -root], [-root / 2, root / 2], [-root / 2, root / 2]])
    assert torch.allclose(features, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["no_edges", "complete"])
def test_equal_degrees_become_zero(name: str) -> None:
    data = awkward.AWKWARD[name]()
    assert not degree_features(data.edge_index, data.num_nodes).any()


def test_with_features() -> None:
    data = awkward.plain()
    assert with_features(data) is data
    bare = awkward.no_features()
    filled = with_features(bare)
    assert filled.featureless
    assert filled.x.shape == (10, 2)
    assert bare.x is None
    assert "featureless" not in bare
