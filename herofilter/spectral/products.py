"""Products of a sparse matrix of the graph with hidden vectors."""

from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.data.features import csr_tensor
from herofilter.spectral.compressed_rows import CompressedRows, SparseMatrix
from herofilter.spectral.sparse import multiply_sparse


def csr_of(matrix: sp.csr_array) -> Tensor:
    """Return a SciPy matrix as a float32 tensor in compressed rows."""
    return csr_tensor(
        torch.from_numpy(matrix.indptr).long(),
        torch.from_numpy(matrix.indices).long(),
        torch.from_numpy(matrix.data).float(),
        matrix.shape,
    )


def placed_of(matrix: sp.csr_array, device: torch.device) -> SparseMatrix:
    """Return a SciPy matrix on a device, in float32."""
    found = csr_of(matrix)
    return found if device.type == "cpu" else CompressedRows.of(found, device)


def product(matrix: SparseMatrix, transposed: SparseMatrix, hidden: Tensor) -> Tensor:
    """Return ``matrix @ hidden``; its gradient uses ``transposed``, so that none is transposed.

    Example:
        >>> matrix = csr_of(sp.csr_array([[0.0, 2.0], [0.0, 0.0]]))
        >>> transposed = csr_of(sp.csr_array([[0.0, 0.0], [2.0, 0.0]]))
        >>> product(matrix, transposed, torch.eye(2)).tolist()
        [[0.0, 2.0], [0.0, 0.0]]
    """
    if not torch.is_grad_enabled():
        return multiply_sparse(matrix, hidden)
    result: Tensor = _Product.apply(matrix, transposed, hidden)  # type: ignore[no-untyped-call]
    return result


class _Product(torch.autograd.Function):
    """A sparse product whose gradient uses the transposed matrix that it is given."""

    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, transposed: SparseMatrix, hidden: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ upstream.contiguous()
