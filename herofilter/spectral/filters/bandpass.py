"""A Gaussian band around one frequency, with learned centre and width."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.errors import ConfigError
from herofilter.spectral.filters.base import Filter

# narrower or wider than e^±20, g is a point or a constant, and overflow would give NaN
_EXTREME = 20.0


@dataclass(frozen=True)
class BandpassFilter(Filter):
    r""":math:`g(\lambda) = \exp(-(1 - \lambda - \mu)^2 / (2 s^2))`.

    The band lies on the Laplacian's frequencies 1 - λ, from 0 (smooth) to 2 (alternating). The
    weights are the centre μ and log s.

    Args:
        centre: The frequency μ to start from.
        width: The width s to start from.

    Shapes:
        - **weights**: [2]

    Example:
        >>> import torch
        >>> band = BandpassFilter(centre=1.0)
        >>> band.response(torch.zeros(1), band.initial_weights(torch.zeros(1)))
        tensor([1.])
    """

    centre: float = 1.0
    width: float = 0.4
    name: ClassVar[str] = "bandpass"

    def __post_init__(self) -> None:
        if not 0 <= self.centre <= 2:
            raise ConfigError(f"centre must be between 0 and 2 (got {self.centre})")
        if not math.exp(-_EXTREME) < self.width < math.exp(_EXTREME):
            raise ConfigError(f"width must be positive and finite (got {self.width})")

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues.new_tensor([self.centre, math.log(self.width)])

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        width = weights[1].clamp(-_EXTREME, _EXTREME).exp()
        return (-(((1 - eigenvalues - weights[0]) / width) ** 2) / 2).exp()
