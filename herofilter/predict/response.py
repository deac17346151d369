"""What a trained filter does: its response over all frequencies, beside the graph's spectrum."""

from collections.abc import Iterable
from typing import Protocol, TypedDict

import numpy as np
import torch
from torch import Tensor

from herofilter.errors import ConfigError


class FilterCurve(TypedDict):
    """The response of one filter at the points of the grid."""

    name: str
    response: list[float]


class Spectrum(TypedDict):
    """How the eigenvalues lie: the bins' bounds, one more than there are densities."""

    bounds: list[float]
    density: list[float]
    num_eigenvalues: int


class FilterResponse(TypedDict):
    """Curves over a common grid, and the spectrum on which they act."""

    grid: list[float]
    filters: list[FilterCurve]
    spectrum: Spectrum


class LearnedFilter(Protocol):
    """A filter whose response is known at any frequency."""

    @property
    def name(self) -> str: ...

    def response_on(self, grid: Tensor, eigenvalues: Tensor, weights: Tensor) -> Tensor: ...


class LearnedPatcher(Protocol):
    """A patcher with filters, such as :class:`~herofilter.patchers.SpectralPatcher`."""

    @property
    def filters(self) -> Iterable[LearnedFilter]: ...

    @property
    def weights(self) -> Iterable[Tensor]: ...

    @property
    def eigenvalues(self) -> Tensor: ...


@torch.no_grad()
def filter_response(patcher: LearnedPatcher, points: int = 201, bins: int = 40) -> FilterResponse:
    r"""Return :math:`g(\lambda)` of each filter on a grid over [-1, 1], and where λ lies.

    Filters are numbered in the order of their slots, as in ``adaptive-0``. The density of the
    spectrum integrates to one over the eigenvalues that the patcher keeps. All values are plain
    floats, ready for JSON.

    Args:
        patcher: a patcher with filters, trained or not.
        points: of the grid, both ends included.
        bins: of the histogram of eigenvalues.

    Example:
        >>> from herofilter.data import csbm
        >>> from herofilter.patchers import SpectralPatcher
        >>> found = filter_response(SpectralPatcher(csbm(num_nodes=60), patch_size=4), points=3)
        >>> found["grid"], found["filters"][0]["name"]
        ([-1.0, 0.0, 1.0], 'adaptive-0')
    """
    if not all(hasattr(patcher, name) for name in ("filters", "weights", "eigenvalues")):
        raise ConfigError(
            "patcher must have filters to look at, as a SpectralPatcher does "
            f"(got {type(patcher).__name__}); the fast patcher's filter is fixed"
        )
    if points < 2 or bins < 1:
        raise ConfigError(
            f"points must be at least 2 and bins at least 1 (got {points} and {bins})"
        )
    eigenvalues = patcher.eigenvalues.detach()
    grid = torch.linspace(-1, 1, points, dtype=eigenvalues.dtype)
    curves = [
        FilterCurve(
            name=f"{kind.name}-{index}",
            response=kind.response_on(grid, eigenvalues, weights).tolist(),
        )
        for index, (kind, weights) in enumerate(zip(patcher.filters, patcher.weights, strict=True))
    ]
    return FilterResponse(grid=grid.tolist(), filters=curves, spectrum=_spectrum(eigenvalues, bins))


def _spectrum(eigenvalues: Tensor, bins: int) -> Spectrum:
    # rounding may put the largest eigenvalue just beyond 1, where no bin would count it
    values = eigenvalues.double().clamp(-1, 1).numpy()
    count, bounds = np.histogram(values, bins=bins, range=(-1, 1))
    # a large graph's eigenvalues aren't known
    density = count / max(values.size, 1) * bins / 2
    return Spectrum(
        bounds=bounds.tolist(), density=density.tolist(), num_eigenvalues=int(values.size)
    )
