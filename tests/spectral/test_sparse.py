"""Sparse products without gradients."""

import pytest
import torch

from herofilter.parallel.threads import one_thread
from herofilter.spectral import sparse
from herofilter.spectral.sparse import multiply_sparse


def random_product(rows: int, columns: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    dense = torch.randn(rows, columns, generator=generator)
    dense *= torch.rand(rows, columns, generator=generator) < 0.1
    return dense.to_sparse_csr(), torch.randn(columns, width, generator=generator)


def test_parts_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, dense = random_product(101, 50, 40)
    expected = multiply_sparse(matrix, dense)
    torch.testing.assert_close(expected, matrix.to_dense() @ dense)
    monkeypatch.setattr(sparse, "PARALLEL_FROM", 0)
    assert torch.equal(multiply_sparse(matrix, dense), expected)
    with one_thread():
        assert torch.equal(multiply_sparse(matrix, dense), expected)
    with one_thread(parallel=True):
        assert torch.equal(multiply_sparse(matrix, dense), expected)


def test_fewer_rows_than_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "PARALLEL_FROM", -1)
    for rows in (0, 1, 3):
        matrix, dense = random_product(rows, 5, 8)
        torch.testing.assert_close(multiply_sparse(matrix, dense), matrix.to_dense() @ dense)


def test_columns_in_any_order_of_memory() -> None:
    matrix, dense = random_product(20, 30, 16)
    found = multiply_sparse(matrix, dense.t().contiguous().t())
    torch.testing.assert_close(found, matrix.to_dense() @ dense)


@pytest.mark.parametrize("width", [1, 5, 12])
def test_other_widths_are_left_to_torch(width: int) -> None:
    matrix, dense = random_product(20, 30, width)
    torch.testing.assert_close(multiply_sparse(matrix, dense), matrix.to_dense() @ dense)


def test_other_types_are_left_to_torch() -> None:
    matrix, dense = random_product(20, 30, 16)
    found = multiply_sparse(matrix.double(), dense.double())
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, matrix.to_dense().double() @ dense.double())
