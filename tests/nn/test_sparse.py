"""The product with sparse features: the values and the gradients of torch."""

import pytest
import torch

from herofilter.data.features import to_sparse
from herofilter.nn.sparse import sparse_product


@pytest.mark.parametrize(("rows", "features", "width"), [(7, 5, 3), (1, 4, 1), (6, 9, 64)])
def test_product_and_gradient_equal_the_dense_ones(rows: int, features: int, width: int) -> None:
    generator = torch.Generator().manual_seed(rows)
    x = torch.rand(rows, features, generator=generator)
    x = x * (x > 0.6)
    weight = torch.rand(features, width, generator=generator, requires_grad=True)
    upstream = torch.rand(rows, width, generator=generator)

    dense = x @ weight
    (expected,) = torch.autograd.grad(dense, weight, upstream)
    sparse = sparse_product(to_sparse(x), weight)
    (found,) = torch.autograd.grad(sparse, weight, upstream)

    torch.testing.assert_close(sparse, dense)
    torch.testing.assert_close(found, expected)


def test_features_without_an_entry_give_zeros() -> None:
    weight = torch.ones(3, 2, requires_grad=True)
    out = sparse_product(to_sparse(torch.zeros(4, 3)), weight)
    out.sum().backward()
    assert out.tolist() == [[0.0, 0.0]] * 4
    assert weight.grad is not None
    assert not weight.grad.any()


def test_a_gradient_that_is_a_view_is_read_in_the_right_order() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    weight = torch.zeros(2, 2, requires_grad=True)
    upstream = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
    sparse_product(to_sparse(x), weight).backward(upstream)
    assert weight.grad is not None
    assert weight.grad.tolist() == (x.t() @ upstream).tolist()
