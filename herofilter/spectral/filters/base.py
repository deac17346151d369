"""The base class of all filters g(λ)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor


@dataclass(frozen=True)
class Filter(ABC):
    r"""A spectral filter :math:`g(\lambda)` on the eigenvalues of the normalised adjacency.

    A filter has no state: :meth:`initial_weights` returns its weights, and the caller keeps them,
    trains them and passes them to each call. A fixed filter has no weights.
    """

    name: ClassVar[str]

    @abstractmethod
    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        """Return the weights to start from, of zero elements if the filter is fixed.

        Shapes:
            - **eigenvalues**: [f]
        """

    @abstractmethod
    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        """Return g at each eigenvalue, differentiable in ``weights``.

        Shapes:
            - **eigenvalues**: [f], within [-1, 1]
            - **returns**: [f]
        """

    def parts(self, values: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        r"""Return the even and the odd part of g at singular values, for a graph with directions.

        Even powers stand for :math:`(\mathbf{N}\mathbf{N}^\top)^{k/2}`, odd ones have one factor
        :math:`\mathbf{N}` more; both parts add up to g. Here they are
        :math:`(g(\sigma) \pm g(-\sigma)) / 2`. Where g(0) isn't zero, a basis without the null
        space misses :math:`g(0)\,\mathbf{I}` on it.

        Shapes:
            - **values**: [f], within [0, 1]
            - **returns**: [f] and [f]
        """
        plus, minus = self.response(values, weights), self.response(-values, weights)
        return (plus + minus) / 2, (plus - minus) / 2

    def response_on(self, grid: Tensor, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        """Return g at any λ in ``grid``, for weights that belong to ``eigenvalues``.

        Shapes:
            - **grid**: [m], within [-1, 1]
            - **eigenvalues**: [f], ascending
            - **returns**: [m]
        """
        return self.response(grid, weights)
