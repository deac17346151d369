"""Proposition 1: the mean response of a filter and the heterophily in the spectral domain."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import GraphError
from herofilter.theory.assumptions import Assumption, Checked, value_range
from herofilter.theory.graph_spectrum import GraphSpectrum, graph_spectrum
from herofilter.theory.heterophily_spectrum import heterophily_spectrum

_ROUNDING = 1e-9


@dataclass(frozen=True)
class MeanResponseBound(Checked):
    r"""Both sides of Proposition 1.

    Args:
        mean_response: the left side, :math:`\frac{1}{n}\sum_i g(\lambda_i)`.
        bound: the right side, ``log_sum / (n · log_ratio)``; NaN where it isn't defined.
        log_sum: :math:`\sum_i \log|\hat{h}_i|`; minus infinity if some coefficient is zero.
        log_ratio: :math:`\log\sum_i g(\lambda_i)|\hat{h}_i| - \log\sum_i g(\lambda_i)`.
    """

    mean_response: float
    bound: float
    log_sum: float
    log_ratio: float

    @property
    def printed_holds(self) -> bool:
        """Whether the mean response is at least the bound, as the paper prints it."""
        return self.mean_response >= self.bound - _ROUNDING * abs(self.bound)

    @property
    def corrected_holds(self) -> bool:
        """Whether the mean response is at most the bound: true whenever the assumptions hold."""
        return self.mean_response <= self.bound + _ROUNDING * abs(self.bound)


def mean_response_bound(
    response: Tensor, h_hat: Tensor, *, rescale: bool = False
) -> MeanResponseBound:
    r"""Return both sides of Proposition 1, and which of its assumptions hold.

    The paper prints ≥ between them. If every :math:`g(\lambda_i)` is in [0, 1] and every
    :math:`|\hat{h}_i|` in (0, 1], then ≤ holds, and ≥ only in the case of equality.

    Args:
        response: [n], :math:`g(\lambda_i)`.
        h_hat: [n], :math:`\hat{h}_i`; its signs don't matter.
        rescale: divide ĥ by its largest modulus, so that no coefficient exceeds 1.

    Example:
        >>> import torch
        >>> found = mean_response_bound(torch.tensor([0.5, 0.5]), torch.tensor([0.5, 0.25]))
        >>> found.mean_response, round(found.bound, 4), found.printed_holds, found.corrected_holds
        (0.5, 1.06, False, True)
    """
    if response.dim() != 1 or response.shape != h_hat.shape or not response.numel():
        raise GraphError(
            "response and h_hat must have one value per eigenvalue "
            f"(got shapes {list(response.shape)} and {list(h_hat.shape)}); take both of one graph"
        )
    g, size = response.detach().double(), h_hat.double().abs()
    if rescale and bool(size.any()):
        size = size / size.max()
    total = float(g.sum())
    log_sum = float(size.log().sum())
    log_ratio = _log_ratio(g, size, total)
    defined = log_ratio != 0 and not math.isnan(log_ratio)
    return MeanResponseBound(
        assumptions=_assumptions(g, size, log_ratio),
        mean_response=total / g.numel(),
        bound=log_sum / (g.numel() * log_ratio) if defined else math.nan,
        log_sum=log_sum,
        log_ratio=log_ratio,
    )


def graph_mean_response_bound(
    data: Data,
    g: Callable[[Tensor], Tensor] | Tensor,
    *,
    rescale: bool = False,
    spectrum: GraphSpectrum | None = None,
) -> MeanResponseBound:
    """Return :func:`mean_response_bound` of a labelled graph.

    Args:
        data: the graph.
        g: the filter, a function of the eigenvalues λ of Ã, or its values at them.
        rescale: divide ĥ by its largest modulus; without it real graphs break an assumption.
        spectrum: of ``data``, if it is known already.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=60, heterophily=0.7)
        >>> found = graph_mean_response_bound(data, lambda values: (1 + values) / 2)
        >>> found.failed[0].split(" (")[0]
        'every |ĥᵢ| ≤ 1'
        >>> graph_mean_response_bound(data, lambda v: (1 + v) / 2, rescale=True).failed
        ()
    """
    known = graph_spectrum(data) if spectrum is None else spectrum
    h_hat = heterophily_spectrum(data, known).h_hat
    return mean_response_bound(known.response(g), h_hat, rescale=rescale)


def _assumptions(g: Tensor, size: Tensor, log_ratio: float) -> tuple[Assumption, ...]:
    zeros = int((size == 0).sum())
    return (
        Assumption("every g(λᵢ) in [0, 1]", bool(((g >= 0) & (g <= 1)).all()), value_range(g)),
        Assumption("some g(λᵢ) > 0", bool((g > 0).any()), value_range(g)),
        Assumption("every |ĥᵢ| ≤ 1", bool((size <= 1).all()), f"at most {float(size.max()):.4g}"),
        Assumption("every ĥᵢ nonzero", zeros == 0, f"{zeros} zeros"),
        Assumption("a negative logarithm in the denominator", log_ratio < 0, f"{log_ratio:.4g}"),
    )


def _log_ratio(g: Tensor, size: Tensor, total: float) -> float:
    """Return the logarithm of the mean of ``size`` with the weights ``g``."""
    if total <= 0:
        return math.nan
    share = g / total
    ratio = float((share * size).sum())
    if ratio < 0.5:
        return math.log(ratio) if ratio > 0 else -math.inf if ratio == 0 else math.nan
    # near one the logarithm is small, and a rounded ratio would leave few of its digits
    return math.log1p(float((share * (size - 1)).sum()))
