"""The learned filter in Chebyshev form: its weights are its values at the Chebyshev nodes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from herofilter.errors import ConfigError, check_choice
from herofilter.spectral.chebyshev import chebyshev_coefficients, chebyshev_nodes
from herofilter.spectral.filters.base import Filter
from herofilter.spectral.filters.polynomial import MAX_ORDER

CHEBYSHEV_STARTS = ("identity", "low", "high", "hop1", "hop2", "aligned")
"""What a Chebyshev filter can be before training; ``aligned`` is fitted to the training labels."""


@dataclass(frozen=True)
class ChebyshevFilter(Filter):
    r"""Interpolation at the zeros :math:`x_j` of :math:`T_{K+1}` (He et al., NeurIPS 2022).

    .. math::
        g(\lambda) = \sum_{k=0}^K \theta_k T_k(\lambda), \qquad g(x_j) = w_j

    A sum of :math:`T_k(\tilde{\mathbf{A}})\mathbf{H}` needs no eigenvectors, and a step of the
    same size in any weight changes g by as much, which is not so for coefficients of powers.

    Args:
        order: K, 1 to 200.
        start: ``identity`` g = 1, ``low`` :math:`(1 + \lambda) / 2`, ``high``
            :math:`(1 - \lambda) / 2`, ``hop1`` λ, ``hop2`` λ², or ``aligned``, which is ``hop2``
            until the training labels are known (see
            :func:`~herofilter.patchers.alignment.aligned_coefficients`).

    Shapes:
        - **weights**: [K + 1]

    Example:
        >>> square = ChebyshevFilter(order=4, start="hop2")
        >>> points = torch.tensor([-1.0, 0.5])
        >>> square.response(points, square.initial_weights(points)).round(decimals=4)
        tensor([1.0000, 0.2500])
    """

    order: int = 10
    start: str = "hop2"
    name: ClassVar[str] = "chebyshev"

    def __post_init__(self) -> None:
        if not 1 <= self.order <= MAX_ORDER:
            raise ConfigError(f"order must be between 1 and {MAX_ORDER} (got {self.order})")
        check_choice("start", self.start, CHEBYSHEV_STARTS)
        if self.start in ("hop2", "aligned") and self.order < 2:
            raise ConfigError(
                f"start={self.start!r} needs an order of at least 2 (got 1); raise the order"
            )

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        x = chebyshev_nodes(self.order).to(eigenvalues.dtype).to(eigenvalues.device)
        if self.start == "identity":
            return torch.ones_like(x)
        if self.start in ("low", "high"):
            return (1 + x if self.start == "low" else 1 - x) / 2
        return x if self.start == "hop1" else x.square()

    def coefficients(self, weights: Tensor) -> Tensor:
        """Return θ of the weights: ``[…, K + 1]`` to ``[…, K + 1]``."""
        return weights @ _interpolation(self.order, weights.dtype, weights.device)

    def weights_of(self, coefficients: Tensor) -> Tensor:
        """Return the weights that have these coefficients θ."""
        return coefficients @ self._polynomials(chebyshev_nodes(self.order).to(coefficients))

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return self.coefficients(weights) @ self._polynomials(eigenvalues)

    def _polynomials(self, x: Tensor) -> Tensor:
        # T_k(cos a) = cos(k·a): [K + 1, f]
        k = torch.arange(self.order + 1, dtype=x.dtype, device=x.device)
        return (k.unsqueeze(1) * x.clamp(-1, 1).arccos()).cos()


@lru_cache(maxsize=32)
def _interpolation(order: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the matrix from values at the nodes to coefficients, transposed."""
    return chebyshev_coefficients(order).t().to(dtype).to(device)
