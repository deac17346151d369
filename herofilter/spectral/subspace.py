"""The eigenpairs of largest magnitude of a sparse symmetric matrix, by filtered subspace iteration.

Lanczos with a single start vector finds only one direction of each eigenspace. Graphs have many
repeated eigenvalues (1 once per connected component, ½ once per further leaf of a hub), so it
misses copies and returns smaller eigenvalues instead. A block as wide as the answer finds all.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

TOLERANCE = 1e-4
_MAX_ROUNDS = 40
_MAX_DEGREE = 32
# beyond this gain rounding errors of the largest eigenpair exceed the smallest wanted one
_MAX_GAIN = 1e12


class Extremes(NamedTuple):
    """Eigenpairs by falling magnitude, and the largest residual :math:`\\|Av - λv\\|` of them."""

    values: Tensor
    vectors: Tensor
    residual: float


def guard_vectors(count: int) -> int:
    """Return how many vectors beyond ``count`` the subspace has, so that the last ones converge."""
    return max(16, count // 4)


def largest_eigenpairs(
    matrix: sp.csr_array, count: int, guard: int | None = None, tolerance: float = TOLERANCE
) -> Extremes:
    r"""Return the ``count`` eigenpairs with the largest :math:`|\lambda|`.

    Each round amplifies both ends of the spectrum with the Chebyshev polynomial
    :math:`T_d(\mathbf{A} / a)`, small on :math:`[-a, a]` and steep outside, then solves the
    problem within the subspace (Rayleigh and Ritz). It stops at ``tolerance`` or after a fixed
    number of rounds; the residual says how exact the result is. The start block is fixed, so that
    the result is always the same.

    Args:
        matrix: Symmetric, with eigenvalues in [-1, 1].
        count: The number of eigenpairs, less than the order of the matrix.
        guard: Further vectors in the subspace; more of them converge in fewer rounds.
        tolerance: The residual at which to stop.
    """
    order = matrix.shape[0]
    width = min(order, count + (guard_vectors(count) if guard is None else guard))
    block = torch.from_numpy(np.random.default_rng(0).standard_normal((order, width)))
    values, residual, cut = torch.zeros(width), math.inf, 0.5
    for _ in range(_MAX_ROUNDS):
        basis, _ = torch.linalg.qr(_amplify(matrix, block, cut))
        image = torch.from_numpy(matrix @ basis.numpy())
        values, rotation = torch.linalg.eigh(basis.T @ image)
        rotation = rotation[:, values.abs().argsort(descending=True)]
        block, image = basis @ rotation, image @ rotation
        values = (block * image).sum(dim=0)
        residual = float((image - block * values)[:, :count].norm(dim=0).max())
        if residual <= tolerance:
            break
        cut = min(max(float(values[-1].abs()), 0.01), 0.999)
    return Extremes(values[:count], block[:, :count], residual)


def _amplify(matrix: sp.csr_array, block: Tensor, cut: float) -> Tensor:
    degree = int(math.log(2 * _MAX_GAIN) / math.acosh(1 / cut))
    # even, so that an eigenvalue of zero isn't wiped out
    degree = max(2, min(degree, _MAX_DEGREE) // 2 * 2)
    scaled = matrix * (2 / cut)
    before = block.numpy()
    now = scaled @ before / 2
    for _ in range(degree - 1):
        after = scaled @ now
        after -= before
        before, now = now, after
    filtered = torch.from_numpy(now)
    filtered /= filtered.norm(dim=0).clamp_min(1e-300)
    return filtered
