"""The eigen-decomposition Ã = U Λ Uᵀ, in full or only at both ends of the spectrum."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.errors import ConfigError, GraphError
from herofilter.memory import check_memory, format_bytes, free_memory
from herofilter.parallel.threads import one_thread
from herofilter.spectral.subspace import TOLERANCE, Extremes, guard_vectors, largest_eigenpairs

_SMALL = 1500
ROUNDING = 1e-6


@dataclass(frozen=True)
class Eigenbasis:
    """Eigenvalues and eigenvectors of the normalised adjacency matrix.

    Args:
        eigenvalues: float32 [f], ascending, within [-1, 1].
        vectors: float32 [n, f], row-major; column i belongs to eigenvalue i.
    """

    eigenvalues: Tensor
    vectors: Tensor


def eigen_decompose(matrix: sp.csr_array, num_eigenpairs: int | None = None) -> Eigenbasis:
    r"""Return :math:`\tilde{\mathbf{A}} = \mathbf{U} \mathbf{\Lambda} \mathbf{U}^\top`.

    With ``num_eigenpairs`` only the eigenvalues largest in magnitude are kept: both ends of the
    spectrum, which hold smooth and alternating signals. The sign of each vector is chosen so
    that its entry of largest magnitude (the first of equals) is positive.

    Args:
        matrix: The symmetric matrix from :func:`~herofilter.spectral.normalised_adjacency`.
        num_eigenpairs: How many to keep; None or at least n keeps all.

    Example:
        >>> import scipy.sparse as sp
        >>> eigen_decompose(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])).eigenvalues
        tensor([-1.,  1.])
    """
    _check_symmetric(matrix)
    order = matrix.shape[0]
    kept = num_kept(order, num_eigenpairs)
    check_pairs_memory(eigen_memory(order, num_eigenpairs), "eigen-decomposition", order, kept)
    found = largest_or_all(matrix, kept)
    return _tidy(found.values, found.vectors, kept)


def eigen_memory(order: int, num_eigenpairs: int | None = None) -> int:
    """Return about how many bytes :func:`eigen_decompose` takes at its peak."""
    kept = num_kept(order, num_eigenpairs)
    if _is_dense(order, kept):
        # the matrix, its vectors and a workspace of twice that, in doubles
        return 4 * 8 * order**2 + 4 * order * kept
    return _subspace_memory(order, kept + guard_vectors(kept)) + 4 * order * kept


def _subspace_memory(order: int, width: int) -> int:
    # measured: ten blocks of doubles while the subspace is made orthogonal
    return 10 * 8 * order * min(order, width)


def num_kept(order: int, num_eigenpairs: int | None) -> int:
    """Return how many eigenpairs are kept of a matrix of the given order."""
    if num_eigenpairs is not None and num_eigenpairs < 1:
        raise ConfigError(
            f"num_eigenpairs must be at least 1, or None for all (got {num_eigenpairs})"
        )
    return order if num_eigenpairs is None else min(order, num_eigenpairs)


def check_pairs_memory(needed: int, work: str, order: int, kept: int) -> None:
    """Raise an error unless a decomposition of ``kept`` pairs fits into memory."""
    extent = "full" if kept == order else f"{kept}-pair"
    check_memory(
        needed,
        f"the {extent} {work} of {order} nodes",
        "use the fast patcher or a smaller num_eigenpairs"
        if not _is_dense(order, kept)
        else f"use the fast patcher or num_eigenpairs={min(512, max(1, order // 8))}",
    )


def largest_or_all(matrix: sp.csr_array, kept: int) -> Extremes:
    """Return the ``kept`` eigenpairs of largest magnitude, or all where that is no slower.

    The matrix must be symmetric and have ``shape``, ``toarray``, products with a number and
    products with a block of vectors.
    """
    # the basis of a repeated eigenvalue isn't unique and changes with the number of threads
    with one_thread():
        dense = _is_dense(matrix.shape[0], kept)
        return _all_pairs(matrix) if dense else _largest_pairs(matrix, kept)


def column_signs(vectors: Tensor) -> Tensor:
    """Return the signs that make each column's largest entry, the first of equals, positive."""
    size = vectors.abs()
    # entries equal but for rounding count as equal; numpy's argmax returns the first of them
    largest = (size >= size.amax(dim=0, keepdim=True) * (1 - 1e-5)).numpy().argmax(axis=0)
    return torch.where(
        vectors[torch.from_numpy(largest), torch.arange(vectors.shape[1])] < 0, -1, 1
    )


def check_square(matrix: sp.csr_array) -> None:
    """Raise a :class:`~herofilter.errors.GraphError` unless the matrix is square and not empty."""
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise GraphError(
            f"the matrix must be square with at least one node (got {rows} x {columns})"
        )


def _is_dense(order: int, kept: int) -> bool:
    # measured: beyond an eighth of the spectrum all of it takes no longer
    return order <= _SMALL or kept > order // 8


def _all_pairs(matrix: sp.csr_array) -> Extremes:
    values, vectors = torch.linalg.eigh(torch.from_numpy(matrix.toarray().astype(np.float64)))
    return Extremes(values, vectors, 0.0)


def _largest_pairs(matrix: sp.csr_array, kept: int) -> Extremes:
    found = largest_eigenpairs(matrix, kept)
    if found.residual <= TOLERANCE:
        return found
    if _subspace_memory(matrix.shape[0], 3 * kept) <= free_memory():
        _warn(found, f"trying again with a subspace of {3 * kept}")
        found = largest_eigenpairs(matrix, kept, guard=2 * kept)
        if found.residual <= TOLERANCE:
            return found
    needed = eigen_memory(matrix.shape[0])
    if needed <= free_memory():
        _warn(found, "falling back to the full eigen-decomposition")
        return _all_pairs(matrix)
    _warn(found, f"keeping it, since the full eigen-decomposition needs {format_bytes(needed)}")
    return found


def _warn(found: Extremes, action: str) -> None:
    warnings.warn(
        f"the {found.values.numel()} largest eigenpairs are known only to within "
        f"{found.residual:.1g}; {action}",
        RuntimeWarning,
        stacklevel=5,
    )


def _tidy(values: Tensor, vectors: Tensor, kept: int) -> Eigenbasis:
    if values.numel() and float(values.abs().max()) > 1 + ROUNDING:
        raise GraphError(
            "the eigenvalues of a normalised matrix must lie in [-1, 1] "
            f"(got {float(values.min()):.3g} to {float(values.max()):.3g}); normalise it first"
        )
    # rounded, so that of the pair ±λ the positive one wins on every machine
    magnitude = values.abs().numpy().round(9)
    chosen = torch.from_numpy(np.lexsort((-values.numpy(), -magnitude))[:kept])
    chosen = chosen[values[chosen].argsort(stable=True)]
    if kept < values.numel() or not bool((chosen == torch.arange(kept)).all()):
        vectors = vectors[:, chosen]
    narrow = vectors.to(torch.float32, memory_format=torch.contiguous_format).contiguous()
    narrow *= column_signs(narrow)
    return Eigenbasis(values[chosen].clamp(-1, 1).float(), narrow)


def _check_symmetric(matrix: sp.csr_array) -> None:
    check_square(matrix)
    difference = abs(matrix - matrix.T).max()
    if not difference <= ROUNDING:
        raise GraphError(
            "the matrix must be symmetric to have an orthonormal eigenbasis "
            f'(got entries that differ by {difference:.3g}); build it with directed="symmetrise"'
        )
