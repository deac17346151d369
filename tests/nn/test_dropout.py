import pytest
import torch

from herofilter.data import to_sparse
from herofilter.nn.dropout import Dropout, set_generator


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.9])
def test_mean_is_kept_and_share_is_right(p: float) -> None:
    layer = Dropout(p)
    layer.generator = torch.Generator().manual_seed(0)
    out = layer(torch.ones(200_001))
    assert out.mean() == pytest.approx(1.0, abs=0.02)
    assert (out == 0).float().mean() == pytest.approx(p, abs=0.01)


def test_eval_and_zero_are_the_identity() -> None:
    x = torch.randn(5, 3)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)


def test_same_generator_same_mask() -> None:
    layer = Dropout(0.5)
    set_generator(layer, torch.Generator().manual_seed(3))
    first = layer(torch.ones(64))
    set_generator(layer, torch.Generator().manual_seed(3))
    assert torch.equal(first, layer(torch.ones(64)))
    assert not torch.equal(first, layer(torch.ones(64)))


def test_sparse_features_stay_sparse() -> None:
    x = to_sparse(torch.eye(50))
    layer = Dropout(0.5)
    layer.generator = torch.Generator().manual_seed(0)
    out = layer(x)
    assert out.layout == torch.sparse_csr
    assert set(out.to_dense().diagonal().tolist()) == {0.0, 2.0}


def test_gradient_passes_where_kept() -> None:
    x = torch.ones(100, requires_grad=True)
    out = Dropout(0.5)(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())
