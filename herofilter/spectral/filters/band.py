"""A learned filter that passes one segment of frequencies and nothing else."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from herofilter.errors import ConfigError, check_choice
from herofilter.spectral.filters.base import Filter
from herofilter.spectral.filters.chebyshev import ChebyshevFilter

BANDS: dict[str, tuple[float, float]] = {
    "low": (0.0, 0.4),
    "low-middle": (0.4, 0.8),
    "middle": (0.8, 1.2),
    "high-middle": (1.2, 1.6),
    "high": (1.6, 2.0),
}
"""The paper's five segments of the Laplacian's eigenvalues 1 - λ."""
# an eigenvalue at a bound, such as 0 or 2, may miss it by rounding
_ROUNDING = 1e-5


@dataclass(frozen=True)
class BandFilter(Filter):
    r""":math:`g(\lambda) = p(1 - \lambda)` for 1 - λ in a segment, 0 elsewhere.

    p is a polynomial of order K on the segment, with its values at the segment's Chebyshev nodes
    as weights (:class:`ChebyshevFilter`); all start at 1.

    Args:
        order: K, 1 to 200.
        low: Where the segment begins, on the Laplacian's frequencies from 0 to 2.
        high: Where it ends.

    Shapes:
        - **weights**: [K + 1]

    Example:
        >>> band = BandFilter(low=0.8, high=1.2)
        >>> points = torch.tensor([1.0, 0.0, -1.0])
        >>> band.response(points, band.initial_weights(points)).round().abs()
        tensor([0., 1., 0.])
    """

    order: int = 10
    low: float = 0.0
    high: float = 0.4
    name: ClassVar[str] = "band"

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= 2:
            raise ConfigError(
                "a band must begin before it ends, both between 0 and 2 "
                f"(got {self.low:g} to {self.high:g})"
            )
        self._inside()

    @classmethod
    def of(cls, start: str, order: int) -> "BandFilter":
        """Return the band of a name in ``BANDS``."""
        check_choice("the start of a band filter", start, BANDS)
        return cls(order, *BANDS[start])

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return self._inside().initial_weights(eigenvalues)

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        frequency = 1 - eigenvalues
        # the segment as [-1, 1]
        place = (2 * frequency - self.low - self.high) / (self.high - self.low)
        # the next segment has its lower bound, the last one both
        top = self.high + _ROUNDING if self.high == 2 else self.high - _ROUNDING
        passes = (frequency >= self.low - _ROUNDING) & (frequency < top)
        found = self._inside().response(place.clamp(-1, 1), weights)
        return torch.where(passes, found, torch.zeros_like(found))

    def _inside(self) -> ChebyshevFilter:
        return ChebyshevFilter(self.order, "identity")
