"""Polynomials in the Chebyshev basis: interpolation, and sums by Clenshaw's recurrence."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def chebyshev_sum(step: Callable[[Tensor], Tensor], terms: Iterable[Tensor]) -> Tensor:
    r"""Return :math:`\sum_k T_k(\mathbf{M}) \mathbf{Z}_k` by Clenshaw's recurrence.

    Args:
        step: the product with **M**, called once per order.
        terms: :math:`\mathbf{Z}_0, \dots, \mathbf{Z}_K`, all of one shape.

    Example:
        >>> one = torch.ones(1)
        >>> chebyshev_sum(lambda x: 0.5 * x, [0 * one, 0 * one, one])  # 2 x² - 1
        tensor([-0.5000])
    """
    *rest, current = terms
    if not rest:
        return current
    following = torch.zeros_like(current)
    for term in reversed(rest[1:]):
        current, following = term + 2 * step(current) - following, current
    return rest[0] + step(current) - following


def chebyshev_nodes(order: int) -> Tensor:
    r"""Return the zeros of :math:`T_{K+1}` in ascending order.

    Shapes:
        - output: ``[K + 1]``, in double precision
    """
    return _angles(order).cos()


def chebyshev_coefficients(order: int) -> Tensor:
    r"""Return the matrix from values at the Chebyshev nodes to coefficients of their interpolant.

    .. math::
        c_k = \frac{2 - [k = 0]}{K + 1} \sum_{j=0}^K T_k(x_j) \, \gamma_j

    The polynomial :math:`\sum_k c_k T_k` has order K and takes the value :math:`\gamma_j` at the
    node :math:`x_j`.

    Shapes:
        - output: ``[K + 1, K + 1]``, in double precision

    Example:
        >>> (chebyshev_coefficients(2) @ torch.ones(3).double()).round(decimals=6).abs().tolist()
        [1.0, 0.0, 0.0]
    """
    k = torch.arange(order + 1, dtype=torch.float64)
    matrix = 2 / (order + 1) * (k.unsqueeze(1) * _angles(order)).cos()
    matrix[0] /= 2
    return matrix


def _angles(order: int) -> Tensor:
    k = torch.arange(order + 1, dtype=torch.float64)
    return (order - k + 0.5) * math.pi / (order + 1)
