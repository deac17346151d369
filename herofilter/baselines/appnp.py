"""APPNP: logits of an MLP propagated by personalised PageRank."""

import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.mlp import MLP
from herofilter.baselines.propagated_mlp import PropagatedMLP
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model

HOPS = 10
ALPHA = 0.1


class APPNP(PropagatedMLP):
    r"""Approximate personalised propagation of neural predictions (Gasteiger et al., ICLR 2019).

    .. math::
        \mathbf{Z}^{(0)} = \mathrm{MLP}(\mathbf{X}), \qquad
        \mathbf{Z}^{(k+1)} = (1 - \alpha) \tilde{\mathbf{A}} \mathbf{Z}^{(k)} +
        \alpha \mathbf{Z}^{(0)}

    Args:
        mlp: gives :math:`\mathbf{Z}^{(0)}`.
        hops: K, the steps of the propagation.
        alpha: α, the restart probability: the weight of a node's own prediction in each step.
    """

    def __init__(self, mlp: MLP, hops: int = HOPS, alpha: float = ALPHA) -> None:
        super().__init__(mlp)
        self.prop = pyg.APPNP(hops, alpha)

    def propagate(self, data: Data, x: Tensor) -> Tensor:
        """Return what ``self.prop(x, edge_index, edge_weight)`` would, by K sparse products."""
        propagate, alpha = propagation(data), self.prop.alpha
        out, start = x, alpha * x
        for _ in range(self.prop.K):
            out = (1 - alpha) * propagate(out) + start
        return out


@register_model(
    "appnp",
    paper="Gasteiger et al. (ICLR 2019)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 5, 10), "alpha": (0.1, 0.2, 0.5, 0.9)},
)
def build_appnp(data: Data, config: Config, spec: GraphSpec) -> APPNP:
    """Build an APPNP for a graph."""
    mlp = MLP(*arguments(data, config, spec))
    return APPNP(mlp, config.baseline.hops or HOPS, config.baseline.alpha or ALPHA)
