"""The singular-value decomposition N = U Σ Vᵀ of a directed graph's normalised adjacency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.errors import GraphError
from herofilter.parallel.threads import one_thread
from herofilter.spectral.eigen import (
    ROUNDING,
    check_pairs_memory,
    check_square,
    column_signs,
    eigen_memory,
    largest_or_all,
    num_kept,
)

_NULL = 1e-6


@dataclass(frozen=True)
class SingularBasis:
    """Singular values and vectors of the normalised adjacency matrix of a directed graph.

    Args:
        values: float32 [f], ascending, within (0, 1].
        left: U, float32 [n, f], row-major; column i belongs to singular value i.
        right: V, likewise.
    """

    values: Tensor
    left: Tensor
    right: Tensor


def singular_decompose(matrix: sp.csr_array, num_pairs: int | None = None) -> SingularBasis:
    r"""Return :math:`\mathbf{N} = \mathbf{U} \mathbf{\Sigma} \mathbf{V}^\top`.

    :math:`\mathbf{U}` are the eigenvectors of :math:`\mathbf{N} \mathbf{N}^\top`, and
    :math:`\mathbf{V} = \mathbf{N}^\top \mathbf{U} \mathbf{\Sigma}^{-1}`. Singular values below
    1e-6 are left out, so there may be fewer than asked for, and none for a matrix of zeros: every
    polynomial filter has g(0) = 0, so that they contribute nothing. The sign of each pair is
    chosen so that the entry of largest magnitude in U's column (the first of equals) is positive.

    Args:
        matrix: From :func:`~herofilter.spectral.normalised_adjacency` with ``directed="keep"``.
        num_pairs: How many of the largest to keep; None or at least n keeps all.

    Example:
        >>> import scipy.sparse as sp
        >>> basis = singular_decompose(sp.csr_array([[0.0, 1.0], [0.0, 0.0]]))
        >>> basis.values, basis.left.T, basis.right.T
        (tensor([1.]), tensor([[1., 0.]]), tensor([[0., 1.]]))
    """
    check_square(matrix)
    if not np.isfinite(matrix.data).all():
        raise GraphError("the matrix must hold finite values only; normalise it first")
    order = matrix.shape[0]
    kept = num_kept(order, num_pairs)
    check_pairs_memory(
        eigen_memory(order, num_pairs) + 4 * order * kept,
        "singular-value decomposition",
        order,
        kept,
    )
    gram = _Gram(matrix.astype(np.float64), sp.csr_array(matrix.T.astype(np.float64)))
    found = largest_or_all(gram, kept)
    with one_thread():
        largest = found.values.argsort(stable=True)[-kept:]
        return _tidy(gram, found.vectors[:, largest])


@dataclass(frozen=True)
class _Gram:
    """The product of two sparse matrices, kept as factors until ``toarray`` is called.

    A node with d in-edges fills d² entries of N Nᵀ, so on a graph with hubs two thin products
    are much cheaper than one with the multiplied matrix.
    """

    first: sp.csr_array
    second: sp.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.shape[0], self.second.shape[1]

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return np.asarray(self.first @ (self.second @ block))

    def __mul__(self, factor: float) -> _Gram:
        return _Gram(self.first * factor, self.second)

    def toarray(self) -> np.ndarray:
        return np.asarray((self.first @ self.second).toarray())


def _tidy(gram: _Gram, left: Tensor) -> SingularBasis:
    # the rows of nodes without out-edges are zero, but rounding errors would rank them
    left[torch.from_numpy(np.diff(gram.first.indptr) == 0)] = 0
    right = torch.from_numpy(gram.second @ left.numpy())
    # more exact for small values than the square root of the eigenvalue
    values, order = right.norm(dim=0).sort(stable=True)
    if values.numel() and not float(values[-1]) <= 1 + ROUNDING:
        raise GraphError(
            "the singular values of a normalised matrix must be at most 1 "
            f"(got {float(values[-1]):.3g}); normalise it first"
        )
    order = order[values >= _NULL]
    values = values[values >= _NULL]
    narrow = left[:, order].float().contiguous()
    signs = column_signs(narrow)
    narrow_right = (right[:, order] / values).float().contiguous()
    return SingularBasis(values.clamp(max=1).float(), narrow * signs, narrow_right * signs)
