"""Res-GCN: a deep GCN with residual connections."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.residual_stack import OPTIONS, ResidualStack, deep_arguments
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import register_model


class ResGCN(ResidualStack):
    r"""GCN with residual connections (Luo et al., NeurIPS 2024).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\mathrm{norm}(\tilde{\mathbf{A}} \mathbf{H}^{(l)}
        \mathbf{W}^{(l)}_1 + \mathbf{H}^{(l)} \mathbf{W}^{(l)}_2))

    Args and shapes are those of :class:`ResidualStack`.
    """

    def init_conv(self, channels: int) -> GCNConv:
        return GCNConv(channels, channels)

    def convolve(self, conv: GCNConv, data: Data, x: Tensor) -> Tensor:
        return gcn_conv(conv, propagation(data), x)


@register_model(
    "res-gcn",
    paper="Luo et al. (NeurIPS 2024)",
    needs="the edges",
    scales=True,
    options=OPTIONS,
)
def build_res_gcn(data: Data, config: Config, spec: GraphSpec) -> ResGCN:
    """Build a deep GCN for a graph."""
    found, normalise = deep_arguments(data, config, spec)
    return ResGCN(*found, normalise)
