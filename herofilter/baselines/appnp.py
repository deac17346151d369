"""APPNP: the baseline that spreads predictions by personalised PageRank."""

import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.baselines.mlp import MLP
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.registry import arguments, register_model

HOPS = 10
ALPHA = 0.1


class APPNP(NodeClassifier):
    r"""Approximate personalised propagation of neural predictions (Gasteiger et al., ICLR 2019).

    .. math::
        \mathbf{Z}^{(0)} = \mathrm{MLP}(\mathbf{X}), \qquad
        \mathbf{Z}^{(k+1)} = (1 - \alpha) \tilde{\mathbf{A}} \mathbf{Z}^{(k)} +
        \alpha \mathbf{Z}^{(0)}

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of linear layers, at least 2.
        dropout: before every layer but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the steps of the propagation.
        alpha: α, the share that a node keeps of its own prediction.

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
        self.prop = pyg.APPNP(hops, alpha)

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return select(personalise(self.prop, propagation(data), self.mlp(data)), nodes)


def personalise(prop: pyg.APPNP, spread: Propagation, x: Tensor) -> Tensor:
    """Return what ``prop(x, edge_index, edge_weight)`` would, by K sparse products."""
    out, kept = x, prop.alpha * x
    for _ in range(prop.K):
        out = (1 - prop.alpha) * spread(out) + kept
    return out


@register_model(
    "appnp",
    paper="Gasteiger et al. (ICLR 2019)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 5, 10), "alpha": (0.1, 0.2, 0.5, 0.9)},
)
def build_appnp(data: Data, config: Config) -> APPNP:
    """Build an APPNP for a graph."""
    return APPNP(
        *arguments(data, config),
        config.baseline.hops or HOPS,
        config.baseline.alpha or ALPHA,
    )
