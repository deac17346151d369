"""Linear interpolation of weights between the eigenvalues of a graph."""

import torch
from torch import Tensor

# eigenvalues nearer than this differ only by rounding
_EQUAL = 1e-6


def interpolate_weights(grid: Tensor, eigenvalues: Tensor, weights: Tensor) -> Tensor:
    """Return weights at each λ of ``grid``: linear between eigenvalues, constant outside.

    Weights of equal eigenvalues are averaged first, since their order is arbitrary.

    Shapes:
        - **grid**: [m]
        - **eigenvalues**: [f], ascending
        - **weights**: [K, f]
        - **returns**: [K, m]
    """
    new = torch.ones_like(eigenvalues, dtype=torch.bool)
    new[1:] = eigenvalues.diff() > _EQUAL
    group = new.cumsum(dim=0) - 1
    count = torch.bincount(group).to(eigenvalues.dtype)
    points = torch.zeros_like(count).index_add(0, group, eigenvalues) / count
    known = weights.new_zeros(weights.shape[0], count.numel()).index_add(1, group, weights) / count
    right = torch.searchsorted(points, grid.contiguous()).clamp(max=points.numel() - 1)
    left = (right - 1).clamp(min=0)
    span = points[right] - points[left]
    share = ((grid - points[left]) / span.where(span > 0, torch.ones_like(span))).clamp(0, 1)
    return torch.lerp(known[:, left], known[:, right], share)
