"""BernNet: the baseline that learns a filter in Bernstein's basis."""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.chebyshev import (
    chebyshev_coefficients,
    chebyshev_nodes,
    chebyshev_sum,
    shifted_laplacian,
)
from herofilter.baselines.mlp import MLP
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.registry import arguments, register_model

HOPS = 10


class BernNet(NodeClassifier):
    r"""Bernstein polynomial filter (He et al., NeurIPS 2021).

    .. math::
        \mathbf{Z} = \sum_{k=0}^K \mathrm{ReLU}(\theta_k) \frac{1}{2^K} \binom{K}{k}
        (2\mathbf{I} - \mathbf{L})^{K-k} \mathbf{L}^k \, \mathrm{MLP}(\mathbf{X}), \qquad
        \mathbf{L} = \mathbf{I} - \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}

    The filter is nowhere negative; it starts from :math:`\theta_k = 1`, the identity. The same
    polynomial is computed in Chebyshev's basis, which takes K products instead of K².

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of linear layers, at least 2.
        dropout: before every layer but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the order of the filter.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    whole_graph = True
    basis: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        hops: int = HOPS,
    ) -> None:
        super().__init__()
        self.mlp = MLP(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
        )
        self.theta = nn.Parameter(torch.ones(hops + 1))
        basis = chebyshev_coefficients(hops) @ bernstein(hops, 1 + chebyshev_nodes(hops))
        self.register_buffer("basis", basis.float(), persistent=False)

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        nn.init.ones_(self.theta)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.mlp(data)
        terms = [weight * x for weight in self.basis @ self.theta.relu()]
        return select(chebyshev_sum(shifted_laplacian(data), terms), nodes)

    def response(self, eigenvalues: Tensor) -> Tensor:
        r"""Return :math:`g(\lambda) = \sum_k \mathrm{ReLU}(\theta_k) B_k(\lambda)`.

        Shapes:
            - eigenvalues: ``[f]``, of **L**, within [0, 2]
            - output: ``[f]``
        """
        return bernstein(self.theta.numel() - 1, eigenvalues) @ self.theta.relu().to(
            eigenvalues.dtype
        )


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


@register_model(
    "bernnet",
    paper="He et al. (NeurIPS 2021)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 5, 10)},
)
def build_bernnet(data: Data, config: Config) -> BernNet:
    """Build a BernNet for a graph."""
    return BernNet(
        *arguments(data, config),
        config.baseline.hops or HOPS,
    )
