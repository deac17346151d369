"""GPRGNN: logits of an MLP propagated with a learned weight for each hop."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.mlp import MLP
from herofilter.baselines.propagated_mlp import PropagatedMLP
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model

HOPS = 10
ALPHA = 0.1


def pagerank_weights(hops: int, alpha: float) -> Tensor:
    """Return the weight of each hop after so many steps of APPNP.

    Example:
        >>> pagerank_weights(2, 0.5)
        tensor([0.5000, 0.2500, 0.2500])
    """
    weights = (1 - alpha) ** torch.arange(hops + 1, dtype=torch.float32)
    weights[:-1] *= alpha
    return weights


class GPRGNN(PropagatedMLP):
    r"""Generalised PageRank network (Chien et al., ICLR 2021).

    .. math::
        \mathbf{Z} = \sum_{k=0}^K \gamma_k \tilde{\mathbf{A}}^k \, \mathrm{MLP}(\mathbf{X})

    The weights :math:`\gamma_k` are learned and may be negative. They start from personalised
    PageRank, :math:`\gamma_k = \alpha (1 - \alpha)^k` and :math:`\gamma_K = (1 - \alpha)^K`,
    which makes the model APPNP.

    Args:
        mlp: gives the logits that are propagated.
        hops: K, the order of the polynomial.
        alpha: α of the weights to start from.
    """

    def __init__(self, mlp: MLP, hops: int = HOPS, alpha: float = ALPHA) -> None:
        super().__init__(mlp)
        self.alpha = alpha
        self.gamma = nn.Parameter(pagerank_weights(hops, alpha))

    def reset_coefficients(self) -> None:
        start = pagerank_weights(self.gamma.numel() - 1, self.alpha)
        self.gamma.data = start.to(self.gamma.device)

    def propagate(self, data: Data, x: Tensor) -> Tensor:
        propagate = propagation(data)
        # Horner's scheme
        *rest, last = self.gamma
        out: Tensor = last * x
        for weight in reversed(rest):
            out = propagate(out) + weight * x
        return out

    def response(self, eigenvalues: Tensor) -> Tensor:
        r"""Return :math:`g(\lambda) = \sum_k \gamma_k (1 - \lambda)^k`.

        Shapes:
            - eigenvalues: ``[f]``, of :math:`\mathbf{I} - \tilde{\mathbf{A}}`, within [0, 2]
            - output: ``[f]``
        """
        # [f, K + 1]
        powers = torch.stack([(1 - eigenvalues) ** k for k in range(self.gamma.numel())], dim=1)
        return powers @ self.gamma.to(powers.dtype)


@register_model(
    "gprgnn",
    paper="Chien et al. (ICLR 2021)",
    needs="the edges",
    scales=True,
    options={"hops": (5, 10), "alpha": (0.1, 0.2, 0.5, 0.9)},
)
def build_gprgnn(data: Data, config: Config, spec: GraphSpec) -> GPRGNN:
    """Build a GPRGNN for a graph."""
    mlp = MLP(*arguments(data, config, spec))
    return GPRGNN(mlp, config.baseline.hops or HOPS, config.baseline.alpha or ALPHA)
