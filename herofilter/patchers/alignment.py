"""The closed-form start: a filter that scores nodes of the same class highly."""

import torch
from torch import Tensor

from herofilter.spectral.filters import ChebyshevFilter
from herofilter.spectral.polynomial_basis import ChebyshevBasis

# labelled nodes that are compared at most with a sample, and multiplications for that sample
_MOST_NODES = 100_000
_WORK = 2e10
# rows of the graph times columns of the basis that are computed at a time
_TABLE = 2**20


@torch.no_grad()
def aligned_coefficients(basis: ChebyshevBasis, labels: Tensor, ridge: float = 1e-3) -> Tensor:
    r"""Return θ by ridge regression of "same label" on the entries of the basis matrices.

    .. math::
        \min_\theta \sum_{i \ne j} \Big([y_i = y_j] - \bar{y} - \sum_k \theta_k (B_k)_{ij}\Big)^2
        + \rho \lVert \theta \rVert^2

    over pairs of labelled nodes, where :math:`\bar{y}` is the share of pairs that agree. No other
    label has a part in it. On a large graph j runs over a sample of them.

    Args:
        basis: the Chebyshev polynomials :math:`\mathbf{B}_k = T_k(\tilde{\mathbf{A}})`.
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
    n, size = basis.num_nodes, basis.num_terms
    generator = torch.Generator().manual_seed(0)
    known = _sample((labels >= 0).nonzero().flatten(), _MOST_NODES, generator)
    most = max(1, int(_WORK / (size * max(basis.matrix.nnz, n))))
    columns = _sample(torch.arange(known.numel()), most, generator)
    gram, moment = torch.zeros(size, size).double(), torch.zeros(size).double()
    if known.numel() < 2:
        return moment.float()
    classes = labels[known]
    share = classes.bincount().double() / known.numel()
    rate = float(share @ share)
    width = _columns_at_once(n)
    for part in torch.split(columns, width):
        place = torch.arange(part.numel())
        unit = torch.zeros(n, width)
        unit[known[part], place] = 1
        # [K + 1, m, c]
        entries = torch.stack([term[known, : part.numel()] for term in basis.iterate(unit)])
        entries[:, part, place] = 0
        entries = entries.flatten(1).double()
        target = (classes.unsqueeze(1) == classes[part]).double() - rate
        gram += entries @ entries.t()
        moment += entries @ target.flatten()
    scale = gram.diagonal().mean().clamp(min=1e-30)
    theta: Tensor = torch.linalg.solve(gram + ridge * scale * torch.eye(size), moment)
    return (theta / theta.abs().max().clamp(min=1e-30)).float()


def alignment_memory(num_nodes: int, num_entries: int, num_terms: int) -> int:
    """Return about how many bytes the regression takes at its peak if all labels are known.

    Args:
        num_nodes: n.
        num_entries: of the matrix that aren't zero.
        num_terms: K + 1.
    """
    pairs = min(num_nodes, _MOST_NODES) * _columns_at_once(num_nodes)
    # measured: a matrix while it is made; each entry twice in floats, once in doubles as that of
    # the columns before, and gaps between them
    return 60 * num_entries + 20 * (num_terms + 1) * pairs


def _columns_at_once(num_nodes: int) -> int:
    # in multiples of eight, which the compiled products take
    return max(8, min(64, _TABLE // max(1, num_nodes) // 8 * 8))


def aligned_weights(kind: ChebyshevFilter, basis: ChebyshevBasis, labels: Tensor) -> Tensor | None:
    """Return the weights of the aligned filter, of largest modulus one; None without any labels."""
    weights = kind.weights_of(aligned_coefficients(basis, labels))
    return weights / weights.abs().max() if weights.any() else None


def _sample(values: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return at most so many of the values, in their order."""
    if values.numel() <= most:
        return values
    order = torch.randperm(values.numel(), generator=generator)
    return values[order[:most]].sort().values
