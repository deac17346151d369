"""How the eigenvalues of a graph lie, estimated from random vectors, without eigenvectors."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.errors import ConfigError
from herofilter.spectral.products import csr_of
from herofilter.spectral.sparse import multiply_sparse

# the error of a share falls with the root of nodes times probes
_ENTRIES = 200_000
_MOST_PROBES = 64


@dataclass(frozen=True)
class SpectralDensity:
    """The share of eigenvalues in each bin.

    Args:
        bounds: of the bins over [-1, 1], one more than there are shares.
        shares: of all eigenvalues; they add up to one.
        probes: how many random vectors the estimate rests on.
    """

    bounds: tuple[float, ...]
    shares: tuple[float, ...]
    probes: int

    @property
    def centres(self) -> tuple[float, ...]:
        """The middle of each bin."""
        pairs = zip(self.bounds[:-1], self.bounds[1:], strict=True)
        return tuple((low + high) / 2 for low, high in pairs)

    @property
    def density(self) -> tuple[float, ...]:
        """The shares divided by the widths of the bins, so that the integral is one."""
        widths = np.diff(self.bounds)
        return tuple((np.array(self.shares) / widths).tolist())


def spectral_density(
    matrix: sp.csr_array,
    bins: int = 80,
    order: int = 160,
    probes: int | None = None,
    seed: int = 0,
) -> SpectralDensity:
    r"""Estimate the density of the eigenvalues of a symmetric matrix by its Chebyshev moments.

    .. math::
        \mu_k = \frac{1}{n} \operatorname{tr} T_k(\mathbf{M})
        \approx \frac{1}{nR} \sum_{r=1}^R \mathbf{z}_r^\top T_k(\mathbf{M}) \mathbf{z}_r

    The entries of :math:`\mathbf{z}_r` are ±1 at random. The sum of
    :math:`\mu_k T_k(\lambda) / (\pi \sqrt{1 - \lambda^2})` up to the order, damped by Jackson's
    factors so that it is never negative, is integrated over each bin; a single eigenvalue is
    spread over a width of about π divided by the order. It takes half as many sparse products as
    the order says, and memory for a few vectors per probe.

    Args:
        matrix: symmetric, with all eigenvalues in [-1, 1], such as the normalised adjacency.
        bins: of the histogram.
        order: of the last moment.
        probes: R; by default as many as give 200,000 random entries, from 1 to 64;
            with as many as there are nodes the moments are exact.
        seed: of the random vectors.

    Example:
        >>> edge = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
        >>> found = spectral_density(edge, bins=4)
        >>> [round(share, 2) for share in found.shares]
        [0.5, 0.0, 0.0, 0.5]
    """
    if bins < 1 or order < 2:
        raise ConfigError(f"bins must be at least 1 and order at least 2 (got {bins} and {order})")
    n = matrix.shape[0]
    if n == 0:
        raise ConfigError("the matrix must have at least one row (got none); give another graph")
    if probes is not None and probes < 1:
        raise ConfigError(f"probes must be at least 1 (got {probes})")
    count = min(n, probes or max(1, min(_MOST_PROBES, -(-_ENTRIES // n))))
    moments = _moments(csr_of(matrix), order, count, seed) * _jackson(order)
    bounds = np.linspace(-1, 1, bins + 1)
    shares = _integrals(moments, bounds).clip(min=0)
    return SpectralDensity(tuple(bounds.tolist()), tuple((shares / shares.sum()).tolist()), count)


def _moments(matrix: Tensor, order: int, probes: int, seed: int) -> np.ndarray:
    """Return μ_0, …, μ_order, two for each product: T_{j+k} = 2 T_j T_k - T_{|j-k|}."""
    # [n, R]
    start = _probes(matrix.size(0), probes, seed)
    before, current = start, multiply_sparse(matrix, start)
    found = np.ones(order + 2)
    found[1] = first = _mean_product(start, current)
    for k in range(1, order // 2 + 1):
        found[2 * k] = 2 * _mean_product(current, current) - 1
        before, current = current, multiply_sparse(matrix, current).mul_(2).sub_(before)
        found[2 * k + 1] = 2 * _mean_product(before, current) - first
    return found[: order + 1]


def _probes(num_nodes: int, count: int, seed: int) -> Tensor:
    if count == num_nodes:
        # one per node makes the trace exact
        return torch.eye(count) * math.sqrt(count)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, (num_nodes, count), generator=generator).float().mul_(2).sub_(1)


def _mean_product(left: Tensor, right: Tensor) -> float:
    return float(torch.dot(left.flatten(), right.flatten())) / left.numel()


def _jackson(order: int) -> np.ndarray:
    """Return the factors that turn a cut series into one that is never negative."""
    k, last = np.arange(order + 1), order + 2
    angle = math.pi / last
    wave = (last - k) * np.cos(k * angle) + np.sin(k * angle) / math.tan(angle)
    return np.asarray(wave / last)


def _integrals(moments: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the integral of the series over each bin."""
    k, angles = np.arange(1, moments.size), np.arccos(bounds.clip(-1, 1))
    # [bounds]: the integral from -1, since λ = cos(angle)
    waves = np.sin(np.outer(angles, k)) @ (2 * moments[1:] / k)
    return np.asarray(np.diff(-(angles * moments[0] + waves) / math.pi))
