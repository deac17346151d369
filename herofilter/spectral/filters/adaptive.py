"""The paper's filter: a polynomial with separate weights at every eigenvalue."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.spectral.filters.interpolation import interpolate_weights
from herofilter.spectral.filters.polynomial import PolynomialFilter


@dataclass(frozen=True)
class AdaptiveFilter(PolynomialFilter):
    r""":math:`g(\mathbf{\Lambda}) = \sum_{k=1}^K \sigma(\mathbf{w}_k \odot \mathbf{\Lambda}^k)`.

    The weights :math:`\mathbf{w}_k` have an entry per eigenvalue, so g may take different values
    at neighbouring frequencies: the adaptive polynomial filter of the HeroFilter patcher.

    Shapes:
        - **weights**: [K, f]

    Example:
        >>> import torch
        >>> line = AdaptiveFilter(order=1, activation="identity")
        >>> line.response(torch.tensor([-1.0, 1.0]), torch.ones(1, 2))
        tensor([-1.,  1.])
    """

    name: ClassVar[str] = "adaptive"

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return self.coefficients(eigenvalues)[:, None].repeat(1, eigenvalues.numel())

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return self.total(eigenvalues, weights)

    def response_on(self, grid: Tensor, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        """Return g on ``grid``, with the weights interpolated linearly in λ."""
        return self.total(grid, interpolate_weights(grid, eigenvalues, weights))
