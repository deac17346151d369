"""The adaptive filter with one weight per power: the ablation "shared parameters"."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.spectral.filters.polynomial import PolynomialFilter


@dataclass(frozen=True)
class SharedFilter(PolynomialFilter):
    r""":math:`g(\lambda) = \sum_{k=1}^K \sigma(w_k \lambda^k)` with the same weights everywhere.

    Shapes:
        - **weights**: [K]

    Example:
        >>> import torch
        >>> square = SharedFilter(order=2, activation="identity", start="hop2")
        >>> square.response(torch.tensor([-1.0, 0.5]), torch.tensor([0.0, 1.0]))
        tensor([1.0000, 0.2500])
    """

    name: ClassVar[str] = "shared"

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return self.coefficients(eigenvalues)

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return self.total(eigenvalues, weights[:, None])
