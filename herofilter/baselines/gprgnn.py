"""GPRGNN: the baseline that learns how much each hop counts."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.mlp import MLP
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.registry import arguments, register_model

HOPS = 10
ALPHA = 0.1


class GPRGNN(NodeClassifier):
    r"""Generalised PageRank network (Chien et al., ICLR 2021).

    .. math::
        \mathbf{Z} = \sum_{k=0}^K \gamma_k \tilde{\mathbf{A}}^k \, \mathrm{MLP}(\mathbf{X})

    The weights :math:`\gamma_k` are learned and may be negative. They start from personalised
    PageRank, :math:`\gamma_k = \alpha (1 - \alpha)^k` and :math:`\gamma_K = (1 - \alpha)^K`,
    which makes the model APPNP.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of linear layers, at least 2.
        dropout: before every layer but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the steps of the propagation.
        alpha: α of the weights to start from.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    whole_graph = True

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
        alpha: float = ALPHA,
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
        self.alpha = alpha
        self.gamma = nn.Parameter(pagerank_weights(hops, alpha))

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()
        self.gamma.data = pagerank_weights(self.gamma.numel() - 1, self.alpha)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        spread, x = propagation(data), self.mlp(data)
        *rest, last = self.gamma
        out = last * x
        for weight in reversed(rest):
            out = spread(out) + weight * x
        return select(out, nodes)

    def response(self, eigenvalues: Tensor) -> Tensor:
        r"""Return :math:`g(\lambda) = \sum_k \gamma_k (1 - \lambda)^k`.

        Shapes:
            - eigenvalues: ``[f]``, of :math:`\mathbf{I} - \tilde{\mathbf{A}}`, within [0, 2]
            - output: ``[f]``
        """
        # [f, K + 1]
        powers = torch.stack([(1 - eigenvalues) ** k for k in range(self.gamma.numel())], dim=1)
        return powers @ self.gamma.to(powers.dtype)


def pagerank_weights(hops: int, alpha: float) -> Tensor:
    """Return how much each hop counts after so many steps of APPNP.

    Example:
        >>> pagerank_weights(2, 0.5)
        tensor([0.5000, 0.2500, 0.2500])
    """
    weights = (1 - alpha) ** torch.arange(hops + 1, dtype=torch.float32)
    weights[:-1] *= alpha
    return weights


@register_model(
    "gprgnn",
    paper="Chien et al. (ICLR 2021)",
    needs="the edges",
    scales=True,
    options={"hops": (5, 10), "alpha": (0.1, 0.2, 0.5, 0.9)},
)
def build_gprgnn(data: Data, config: Config) -> GPRGNN:
    """Build a GPRGNN for a graph."""
    return GPRGNN(
        *arguments(data, config),
        config.baseline.hops or HOPS,
        config.baseline.alpha or ALPHA,
    )
