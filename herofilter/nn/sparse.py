"""The product of sparse features and a weight, with a fast gradient."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.jit import compiled
from herofilter.spectral.compressed_rows import CompressedRows, SparseMatrix
from herofilter.spectral.sparse import multiply_sparse


def sparse_product(x: SparseMatrix, weight: Tensor) -> Tensor:
    """Return ``x @ weight`` for sparse features that need no gradient.

    The gradient of the weight is the transposed features times the gradient of the output. Torch
    would build the transposed matrix at every step; adding row by row doesn't need it.

    Shapes:
        - x: ``[n, f]``, sparse CSR, or its entries off the CPU; weight: ``[f, h]``
        - output: ``[n, h]``

    Example:
        >>> x = torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        >>> sparse_product(x, torch.ones(2, 3)).tolist()
        [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    """
    if isinstance(x, CompressedRows):
        return x @ weight
    if not torch.is_grad_enabled():
        return multiply_sparse(x, weight)
    out: Tensor = _SparseProduct.apply(x, weight)  # type: ignore[no-untyped-call]
    return out


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.x = x
        ctx.shape = weight.shape
        return x @ weight

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor]:
        total = upstream.new_zeros(ctx.shape)
        entries = (ctx.x.crow_indices(), ctx.x.col_indices(), ctx.x.values(), upstream.contiguous())
        _add_rows(*(part.numpy() for part in entries), total.numpy())
        return None, total


@compiled(nogil=True)
def _add_rows(crow: Any, col: Any, value: Any, upstream: Any, total: Any) -> None:
    """Add the product of the transposed CSR matrix and ``upstream`` to ``total``."""
    for row in range(crow.size - 1):
        source = upstream[row]
        for entry in range(crow[row], crow[row + 1]):
            factor = value[entry]
            # dropout leaves many zeros
            if factor != 0:
                target = total[col[entry]]
                for channel in range(target.size):
                    target[channel] += factor * source[channel]
