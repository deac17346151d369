"""What the functions of this room return: the best nodes of rows, with their basis values."""

from dataclasses import dataclass

import numpy as np

from herofilter.patchers.relations import Found


@dataclass(frozen=True, eq=False)
class PolynomialFound(Found):
    r"""The best nodes of some rows of :math:`\sum_k \theta_k \mathbf{T}_k`, and basis values.

    ``basis`` [m, p, K + 1] has the entry of each :math:`\mathbf{T}_k` for each chosen node, zero
    at padding; ``basis @ theta`` are the scores, for other coefficients as well. None where it
    wasn't asked for.
    """

    basis: np.ndarray | None = None
