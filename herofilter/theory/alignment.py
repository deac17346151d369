"""Proposition 2: weights with which the adaptive filter takes any given values."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from herofilter.errors import ConfigError, GraphError, check_choice

# below this an eigenvalue is zero but for rounding
_ZERO = 1e-12


class _Inverse(NamedTuple):
    """The inverse of an activation, on values from ``lowest`` to ``highest``, both excluded."""

    inverse: Callable[[Tensor], Tensor]
    lowest: float
    highest: float


def _same(value: Tensor) -> Tensor:
    return value


def _inverse_softsign(value: Tensor) -> Tensor:
    return value / (1 - value.abs())


_INVERSES = {
    "tanh": _Inverse(torch.atanh, -1.0, 1.0),
    "identity": _Inverse(_same, -math.inf, math.inf),
    "relu": _Inverse(_same, 0.0, math.inf),
    "softsign": _Inverse(_inverse_softsign, -1.0, 1.0),
}


def align(g: Tensor, y: Tensor) -> float:
    r"""Return the cosine :math:`\mathbf{g}^\top\mathbf{y} / (\|\mathbf{g}\| \|\mathbf{y}\|)`.

    Example:
        >>> align(torch.tensor([3.0, 0.0, 0.0]), torch.tensor([1, 0, 0]))
        1.0
    """
    _check_vectors(g, y)
    first, second = g.detach().double(), y.double()
    norms = float(first.norm()) * float(second.norm())
    if norms == 0:
        raise GraphError(
            "g and y must not be zero everywhere (got a zero vector, which has no direction); "
            "take other weights or labels"
        )
    return min(1.0, max(-1.0, float(first @ second) / norms))


def aligning_weights(
    eigenvalues: Tensor,
    y: Tensor,
    order: int,
    activation: str = "tanh",
    *,
    scale: float | None = None,
) -> Tensor:
    r"""Return weights with which :math:`\sum_k \sigma(\mathbf{w}_k \odot \lambda^k) = c\mathbf{y}`.

    The first power does it alone: :math:`w_{1,i} = \sigma^{-1}(c y_i) / \lambda_i`, and
    :math:`\mathbf{w}_k = 0` for k > 1, since σ(0) = 0. So ``align(g, y)`` is 1.

    Args:
        eigenvalues: [n], λ; zero only where ``y`` is zero.
        y: [n], labels or any other target; not negative with relu, and not zero everywhere.
        order: K.
        activation: σ, as in :class:`~herofilter.spectral.AdaptiveFilter`.
        scale: c. A bounded σ needs it *below* 1 / max|y|; by default half of that, and 1 where
            σ isn't bounded.

    Shapes:
        - **returns**: [K, n], float64

    Example:
        >>> from herofilter.spectral import AdaptiveFilter
        >>> eigenvalues, y = torch.tensor([-0.5, 0.2, 1.0]).double(), torch.tensor([2, 0, 1])
        >>> weights = aligning_weights(eigenvalues, y, order=3)
        >>> g = AdaptiveFilter(order=3).response(eigenvalues, weights)
        >>> [round(value, 6) for value in (*g.tolist(), align(g, y))]
        [0.5, 0.0, 0.25, 1.0]
    """
    if order < 1:
        raise ConfigError(f"order must be at least 1 (got {order})")
    check_choice("activation", activation, _INVERSES)
    _check_vectors(eigenvalues, y)
    values, target = eigenvalues.double(), y.double()
    _check_target(values, target)
    sigma = _INVERSES[activation]
    wanted = _scale(sigma, target, activation, scale) * target
    safe = torch.where(target == 0, 1.0, values)
    weights = torch.zeros(order, values.numel(), dtype=torch.float64)
    weights[0] = sigma.inverse(wanted) / safe
    return weights


def best_alignment(eigenvalues: Tensor, y: Tensor) -> float:
    r"""Return the largest alignment that any weights reach, zero eigenvalues or not.

    The filter is zero where λ is, so it is
    :math:`\sqrt{\sum_{\lambda_i \neq 0} y_i^2 / \sum_i y_i^2}`.

    Example:
        >>> best_alignment(torch.tensor([0.0, 0.5, 1.0]), torch.tensor([3, 0, 4]))
        0.8
    """
    _check_vectors(eigenvalues, y)
    reachable = torch.where(eigenvalues.abs() < _ZERO, 0.0, y.double())
    return align(reachable, y) if bool(reachable.any()) else 0.0


def _check_vectors(first: Tensor, y: Tensor) -> None:
    if first.dim() != 1 or first.shape != y.shape:
        raise GraphError(
            "both vectors must have the same length, one entry per eigenvalue "
            f"(got shapes {list(first.shape)} and {list(y.shape)}); take both of one graph"
        )


def _check_target(eigenvalues: Tensor, target: Tensor) -> None:
    if not bool(target.any()):
        raise GraphError(
            "y must not be zero everywhere (got zeros only, with which no vector has a cosine); "
            "number the classes from 1, or take another target"
        )
    lost = int(((eigenvalues.abs() < _ZERO) & (target != 0)).sum())
    if lost:
        raise GraphError(
            f"eigenvalues must not be zero where y isn't (got {lost} such zeros): every power of "
            "zero is zero, so no weight changes g there; best_alignment says what can be reached"
        )


def _scale(sigma: _Inverse, target: Tensor, activation: str, scale: float | None) -> float:
    if float(target.min()) < 0 <= sigma.lowest:
        raise ConfigError(
            f"y must not be negative with {activation}, which never is "
            f"(got {float(target.min()):g}); take tanh, softsign or identity"
        )
    limit = sigma.highest / float(target.abs().max())
    if scale is None:
        return 1.0 if math.isinf(limit) else limit / 2
    if not 0 < scale < limit:
        wish = "positive" if math.isinf(limit) else f"above 0 and below {limit:g}"
        raise ConfigError(
            f"scale must be {wish} (got {scale:g}), so that {activation} can reach scale · y; "
            "leave it out for one that fits"
        )
    return scale
