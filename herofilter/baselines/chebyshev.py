"""Polynomials of a graph's Laplacian in the Chebyshev basis: one sparse product per order."""

from collections.abc import Callable

from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.spectral.chebyshev import chebyshev_sum


def shifted_laplacian(data: Data) -> Callable[[Tensor], Tensor]:
    r"""Return the product with :math:`\tilde{\mathbf{L}} = \mathbf{L} - \mathbf{I} =
    -\mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}`, whose eigenvalues lie in [-1, 1].

    Example:
        >>> import torch
        >>> data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> shifted_laplacian(data)(torch.tensor([[1.0], [2.0]])).tolist()
        [[-2.0], [-1.0]]
    """
    propagate = propagation(data, "sym", loops=False)
    return lambda hidden: -propagate(hidden)


def chebyshev_filter(data: Data, coefficients: Tensor, x: Tensor) -> Tensor:
    r"""Return :math:`\sum_k c_k T_k(\mathbf{L} - \mathbf{I}) \mathbf{X}`.

    Shapes:
        - coefficients: ``[K + 1]``; x: ``[n, c]``
        - output: ``[n, c]``
    """
    return chebyshev_sum(shifted_laplacian(data), [weight * x for weight in coefficients])
