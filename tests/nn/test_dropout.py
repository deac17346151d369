import numpy as np
import pytest
import torch

from herofilter.data import to_sparse
from herofilter.nn.dropout import Dropout, set_generator
from herofilter.nn.relu_dropout import relu_dropout


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


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("training", [True, False])
def test_dropout_after_relu_is_both_in_turn(p: float, training: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    layer = Dropout(p).train(training)
    x = torch.randn(7, 5, 3, generator=generator)
    weights = torch.randn(7, 5, 3, generator=generator)
    found = []
    for apply in (layer.after_relu, lambda value: layer(value.relu())):
        layer.generator = torch.Generator().manual_seed(1)
        value = x.clone().requires_grad_()
        out = apply(value)
        found.append((out.detach(), *torch.autograd.grad((out * weights).sum(), value)))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def jit_cases() -> dict[str, np.ndarray]:
    """Return what the compiled loops give."""
    x = torch.randn(40, generator=torch.Generator().manual_seed(0), requires_grad=True)
    noise = torch.arange(40).mul(6).byte()
    out = relu_dropout(x, noise, 100)
    (slope,) = torch.autograd.grad(out.square().sum(), x)
    return {"out": out.detach().numpy(), "slope": slope.numpy()}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    for name, expected in jit_cases().items():
        np.testing.assert_array_equal(without_jit[name], expected, name)
