"""Sparse products where nothing is learned."""

import itertools
from typing import Any

import torch
from torch import Tensor

from herofilter.parallel.threads import in_parallel, parallel_map
from herofilter.spectral.simd import LANES
from herofilter.spectral.sparse_rows import multiply_rows

# a product with more steps than this is worth several threads
_WORTH = 2**22
_PIECES = 4


def multiply_sparse(matrix: Tensor, dense: Tensor) -> Tensor:
    """Return ``matrix @ dense`` without gradients.

    A compiled loop takes half of torch's time, and each row is added up in the same order
    whatever the number of threads. Other types and devices are left to torch, and so are widths
    that aren't multiples of eight.

    Shapes:
        - matrix: ``[m, n]``, sparse CSR; dense: ``[n, h]``
        - output: ``[m, h]``

    Example:
        >>> matrix = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        >>> multiply_sparse(matrix, torch.ones(2, 3)).tolist()
        [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    matrix, dense = matrix.detach(), dense.detach()
    if not fits_loops(dense, matrix) or dense.size(1) % LANES:
        return matrix @ dense
    out = dense.new_empty(matrix.size(0), dense.size(1))
    crow, col, value = arrays_of(matrix)
    rows, target = dense.contiguous().numpy(), out.numpy()

    def work(piece: tuple[int, int]) -> None:
        first, stop = piece
        multiply_rows(crow[first : stop + 1], col, value, rows, target[first:stop])

    count = _PIECES if value.size * rows.shape[1] > _WORTH else 1
    cuts = [number * len(target) // count for number in range(count + 1)]
    with in_parallel(count > 1):
        parallel_map(work, itertools.pairwise(cuts))
    return out


def fits_loops(*tensors: Tensor) -> bool:
    """Whether compiled loops can read these."""
    return all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tensors)


def arrays_of(matrix: Tensor) -> tuple[Any, Any, Any]:
    """Return a sparse CSR matrix as three arrays that share its memory."""
    crow, col, value = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    return crow.numpy(), col.numpy(), value.numpy()
