"""What the adaptive and the shared filter have in common: order, activation, starting values."""

from dataclasses import dataclass

import torch
from torch import Tensor

from herofilter.errors import ConfigError, check_choice
from herofilter.spectral.filters.activations import ACTIVATIONS
from herofilter.spectral.filters.base import Filter

STARTS = ("low", "hop1", "hop2", "high")
"""What a polynomial filter can be before training."""
MAX_ORDER = 200
"""The largest K of a filter."""
_HOPS = {"hop1": 1, "hop2": 2}


@dataclass(frozen=True)
class PolynomialFilter(Filter):
    r"""Base of :math:`g(\lambda) = \sum_{k=1}^K \sigma(w_k \lambda^k)`.

    Args:
        order: The number K of terms, 1 to 200.
        activation: σ, one of tanh, identity, relu, softsign. A relu passes no gradient to terms
            that start at or below zero, so it suits the start ``low`` only.
        start: ``low`` :math:`w_k = 0.5^k` prefers smooth patterns, ``high``
            :math:`w_k = (-0.5)^k` alternating ones; ``hop1`` (:math:`w_1 = 0.5`, the rest 0)
            takes the neighbours themselves, and ``hop2`` (:math:`w_2 = 0.5`, the rest 0)
            both ends of the spectrum: neighbours of neighbours.
    """

    order: int = 10
    activation: str = "tanh"
    start: str = "low"

    def __post_init__(self) -> None:
        if not 1 <= self.order <= MAX_ORDER:
            raise ConfigError(f"order must be between 1 and {MAX_ORDER} (got {self.order})")
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("start", self.start, STARTS)
        if self.start == "hop2" and self.order < 2:
            raise ConfigError("start='hop2' needs an order of at least 2 (got 1); raise the order")

    def coefficients(self, like: Tensor) -> Tensor:
        """Return the starting values [K] in the type of ``like``."""
        base = -0.5 if self.start == "high" else 0.5
        # on the CPU: not every device has double precision
        terms = torch.arange(1, self.order + 1, dtype=torch.float64)
        values = base**terms
        if self.start in _HOPS:
            values = torch.where(terms == _HOPS[self.start], 0.5, 0.0)
        return values.to(like.dtype).to(like.device)

    def total(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        """Return the sum over k for weights [K, f] or [K, 1]."""
        return self._terms(eigenvalues, weights).sum(dim=0)

    def parts(self, values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums over the even and over the odd powers k."""
        terms = self._terms(values, weights.view(self.order, -1))
        return terms[1::2].sum(dim=0), terms[::2].sum(dim=0)

    def _terms(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        # [K, f], built by repeated products: exact signs, and underflow to zero is harmless
        powers = torch.cumprod(eigenvalues.expand(self.order, -1), dim=0)
        return ACTIVATIONS[self.activation](weights * powers)
