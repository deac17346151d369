"""Sparse products without gradients."""

import itertools
from typing import Any

import torch
from torch import Tensor

from herofilter.parallel.threads import in_parallel, parallel_map
from herofilter.spectral.compressed_rows import CompressedRows, SparseMatrix
from herofilter.spectral.sparse_rows import LANES, multiply_rows

# multiplications from which a product uses several threads
PARALLEL_FROM = 2**22
_PARTS = 4


def multiply_sparse(matrix: SparseMatrix, dense: Tensor) -> Tensor:
    """Return ``matrix @ dense`` without gradients.

    A compiled loop takes half of torch's time, and adds up each row in the same order whatever
    the number of threads. Torch does the product for other types, and for widths that aren't
    multiples of eight.

    Shapes:
        - matrix: ``[m, n]``, sparse CSR or its entries; dense: ``[n, h]``
        - output: ``[m, h]``

    Example:
        >>> matrix = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        >>> multiply_sparse(matrix, torch.ones(2, 3)).tolist()
        [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    dense = dense.detach()
    if isinstance(matrix, CompressedRows):
        return matrix @ dense
    matrix = matrix.detach()
    if not is_float32_on_cpu(dense, matrix) or dense.size(1) % LANES:
        return matrix @ dense
    out = dense.new_empty(matrix.size(0), dense.size(1))
    crow, col, value = csr_arrays(matrix)
    rows, target = dense.contiguous().numpy(), out.numpy()

    def work(part: tuple[int, int]) -> None:
        first, stop = part
        multiply_rows(crow[first : stop + 1], col, value, rows, target[first:stop])

    count = _PARTS if value.size * rows.shape[1] > PARALLEL_FROM else 1
    cuts = [part * len(target) // count for part in range(count + 1)]
    with in_parallel(count > 1):
        parallel_map(work, itertools.pairwise(cuts))
    return out


def is_float32_on_cpu(*tensors: Tensor) -> bool:
    """Whether all tensors are what compiled loops can read: float32 on the CPU."""
    return all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tensors)


def csr_arrays(matrix: Tensor) -> tuple[Any, Any, Any]:
    """Return row pointers, columns and values of a CSR matrix as arrays that share its memory."""
    crow, col, value = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    return crow.numpy(), col.numpy(), value.numpy()
