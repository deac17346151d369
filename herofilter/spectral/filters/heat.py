"""The heat kernel: a low-pass filter with a learned time."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.errors import ConfigError
from herofilter.spectral.filters.base import Filter

# a longer time doesn't change g in floats, and overflow times zero would be NaN
_LONGEST = 20.0


@dataclass(frozen=True)
class HeatFilter(Filter):
    r""":math:`g(\lambda) = e^{-t (1 - \lambda)}`, where 1 - λ is the Laplacian's eigenvalue.

    The weight is log t, so that the time stays positive.

    Args:
        t: The time to start from.

    Shapes:
        - **weights**: [1]

    Example:
        >>> import torch
        >>> heat = HeatFilter()
        >>> heat.response(torch.ones(1), heat.initial_weights(torch.ones(1)))
        tensor([1.])
    """

    t: float = 1.0
    name: ClassVar[str] = "heat"

    def __post_init__(self) -> None:
        if not 0 < self.t < math.exp(_LONGEST):
            raise ConfigError(f"t must be between 0 and {math.exp(_LONGEST):.2g} (got {self.t})")

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues.new_tensor([math.log(self.t)])

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return (-weights.clamp(max=_LONGEST).exp() * (1 - eigenvalues)).exp()
