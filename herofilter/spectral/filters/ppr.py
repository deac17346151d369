"""Personalised PageRank as a filter, which the fast patcher approximates."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.errors import ConfigError
from herofilter.spectral.filters.base import Filter


@dataclass(frozen=True)
class PPRFilter(Filter):
    r""":math:`g(\lambda) = (1 - c) / (1 - c \lambda) = (1 - c) \sum_{k \ge 0} c^k \lambda^k`.

    It is fixed: :math:`\mathbf{U} g(\mathbf{\Lambda}) \mathbf{U}^\top = (1 - c)
    (\mathbf{I} - c \tilde{\mathbf{A}})^{-1}`.

    Args:
        c: The probability of continuing the random walk, between 0 and 1.

    Example:
        >>> import torch
        >>> PPRFilter(c=0.5).response(torch.tensor([0.0, 1.0]), torch.empty(0))
        tensor([0.5000, 1.0000])
    """

    c: float = 0.5
    name: ClassVar[str] = "ppr"

    def __post_init__(self) -> None:
        if not 0 < self.c < 1:
            raise ConfigError(f"c must lie strictly between 0 and 1 (got {self.c})")

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues.new_empty(0)

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return (1 - self.c) / (1 - self.c * eigenvalues)
