"""GCN's low-pass filter, in the form of its propagation and in the form the paper gives."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from herofilter.errors import check_choice
from herofilter.spectral.filters.base import Filter

FORMS = ("propagation", "paper")
"""GCN's filter as its layers apply it, and as the paper writes it."""


@dataclass(frozen=True)
class GCNFilter(Filter):
    r"""One step of GCN: :math:`g(\lambda) = \lambda` or :math:`g(\lambda) = 1 / (2 - \lambda)`.

    Args:
        form: ``propagation`` is the product with Ã that GCN computes, a polynomial of order 1.
            ``paper`` is :math:`(\mathbf{I} + \mathbf{\Lambda})^{-1}` on the Laplacian's
            eigenvalues 1 - λ. Both are fixed, and rise with λ to 1 at λ = 1.

    Example:
        >>> import torch
        >>> GCNFilter("paper").response(torch.tensor([0.0, 1.0]), torch.empty(0))
        tensor([0.5000, 1.0000])
    """

    form: str = "propagation"
    name: ClassVar[str] = "gcn"

    def __post_init__(self) -> None:
        check_choice("form", self.form, FORMS)

    def initial_weights(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues.new_empty(0)

    def response(self, eigenvalues: Tensor, weights: Tensor) -> Tensor:
        return eigenvalues.clone() if self.form == "propagation" else 1 / (2 - eigenvalues)
