"""The closed-form start: a filter that scores nodes of the same class highly."""

import torch
from torch import Tensor

from herofilter.spectral.polynomial_basis import PolynomialBasis

# training nodes whose pairs are compared at most, and columns of the basis at a time
_MOST_NODES = 2000
_COLUMNS = 64


@torch.no_grad()
def aligned_coefficients(basis: PolynomialBasis, labels: Tensor, ridge: float = 1e-3) -> Tensor:
    r"""Return θ by ridge regression of "same label" on the entries of the basis matrices.

    .. math::
        \min_\theta \sum_{i \ne j} \Big([y_i = y_j] - \bar{y} - \sum_k \theta_k (B_k)_{ij}\Big)^2
        + \rho \lVert \theta \rVert^2

    over pairs of labelled nodes, where :math:`\bar{y}` is the share of pairs that agree. No other
    label has a part in it.

    Args:
        basis: the matrices :math:`\mathbf{B}_k`, symmetric.
        labels: -1 for nodes whose label may not be read.
        ridge: ρ, relative to the mean square of the entries.

    Shapes:
        - output: ``[K + 1]``, of largest modulus one; zero without two labelled nodes

    Example:
        >>> import scipy.sparse as sp
        >>> from herofilter.spectral.polynomial_basis import ChebyshevBasis
        >>> path = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 2**0.5
        >>> theta = aligned_coefficients(ChebyshevBasis(path, 2), torch.tensor([0, 1, 0]))
        >>> bool(theta[2] > 0 > theta[1])
        True
    """
    known = (labels >= 0).nonzero().flatten()
    if known.numel() > _MOST_NODES:
        generator = torch.Generator().manual_seed(0)
        order = torch.randperm(known.numel(), generator=generator)
        known = known[order[:_MOST_NODES]].sort().values
    count, size = known.numel(), basis.num_terms
    gram, moment = torch.zeros(size, size).double(), torch.zeros(size).double()
    if count < 2:
        return moment.float()
    classes = labels[known]
    same = classes.unsqueeze(1) == classes
    rate = (int(same.sum()) - count) / (count * (count - 1))
    for first in range(0, count, _COLUMNS):
        columns = torch.arange(first, min(first + _COLUMNS, count))
        unit = torch.zeros(basis.num_nodes, _COLUMNS)
        unit[known[columns], torch.arange(columns.numel())] = 1
        # [K + 1, m, c] -> [K + 1, m·c]
        entries = basis.terms(unit)[:, known, : columns.numel()].clone()
        entries[:, columns, torch.arange(columns.numel())] = 0
        entries = entries.flatten(1).double()
        target = (same[:, columns].double() - rate).flatten()
        gram += entries @ entries.t()
        moment += entries @ target
    scale = gram.diagonal().mean().clamp(min=1e-30)
    theta: Tensor = torch.linalg.solve(gram + ridge * scale * torch.eye(size), moment)
    return (theta / theta.abs().max().clamp(min=1e-30)).float()
