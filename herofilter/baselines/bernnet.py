"""BernNet: logits of an MLP filtered by a learned polynomial in the Bernstein basis."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.chebyshev import chebyshev_filter
from herofilter.baselines.mlp import MLP
from herofilter.baselines.propagated_mlp import PropagatedMLP
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model
from herofilter.spectral.chebyshev import chebyshev_coefficients, chebyshev_nodes

HOPS = 10


def bernstein(order: int, points: Tensor) -> Tensor:
    r"""Return :math:`B_k(\lambda) = \binom{K}{k} (1 - \lambda/2)^{K-k} (\lambda/2)^k`.

    Shapes:
        - points: ``[f]``, within [0, 2]
        - output: ``[f, K + 1]``

    Example:
        >>> bernstein(2, torch.tensor([1.0]))
        tensor([[0.2500, 0.5000, 0.2500]])
    """
    half = points / 2
    columns = [math.comb(order, k) * (1 - half) ** (order - k) * half**k for k in range(order + 1)]
    return torch.stack(columns, dim=1)


class BernNet(PropagatedMLP):
    r"""Bernstein polynomial filter (He et al., NeurIPS 2021).

    .. math::
        \mathbf{Z} = \sum_{k=0}^K \mathrm{ReLU}(\theta_k) \frac{1}{2^K} \binom{K}{k}
        (2\mathbf{I} - \mathbf{L})^{K-k} \mathbf{L}^k \, \mathrm{MLP}(\mathbf{X}), \qquad
        \mathbf{L} = \mathbf{I} - \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}

    The filter is nowhere negative; it starts from :math:`\theta_k = 1`, the identity. The same
    polynomial is computed in the Chebyshev basis, which takes K products instead of K².

    Args:
        mlp: gives the logits that are filtered.
        hops: K, the order of the filter.
    """

    basis: Tensor

    def __init__(self, mlp: MLP, hops: int = HOPS) -> None:
        super().__init__(mlp)
        self.theta = nn.Parameter(torch.ones(hops + 1))
        basis = chebyshev_coefficients(hops) @ bernstein(hops, 1 + chebyshev_nodes(hops))
        self.register_buffer("basis", basis.float(), persistent=False)

    def reset_coefficients(self) -> None:
        nn.init.ones_(self.theta)

    def propagate(self, data: Data, x: Tensor) -> Tensor:
        return chebyshev_filter(data, self.basis @ self.theta.relu(), x)

    def response(self, eigenvalues: Tensor) -> Tensor:
        r"""Return :math:`g(\lambda) = \sum_k \mathrm{ReLU}(\theta_k) B_k(\lambda)`.

        Shapes:
            - eigenvalues: ``[f]``, of **L**, within [0, 2]
            - output: ``[f]``
        """
        return bernstein(self.theta.numel() - 1, eigenvalues) @ self.theta.relu().to(
            eigenvalues.dtype
        )


@register_model(
    "bernnet",
    paper="He et al. (NeurIPS 2021)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 5, 10)},
)
def build_bernnet(data: Data, config: Config, spec: GraphSpec) -> BernNet:
    """Build a BernNet for a graph."""
    return BernNet(MLP(*arguments(data, config, spec)), config.baseline.hops or HOPS)
