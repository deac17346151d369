"""Res-GraphSAGE: a deep GraphSAGE with residual connections."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.residual_stack import OPTIONS, ResidualStack, deep_arguments
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import register_model


class ResGraphSAGE(ResidualStack):
    r"""GraphSAGE with residual connections (Luo et al., NeurIPS 2024).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\mathrm{norm}(\mathbf{D}^{-1} \mathbf{A}
        \mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{mean}} + \mathbf{H}^{(l)}
        \mathbf{W}^{(l)}_{\mathrm{self}} + \mathbf{H}^{(l)} \mathbf{W}^{(l)}))

    As in the paper, a node's own vector enters twice: with the weight that GraphSAGE has for it and
    with that of the residual connection. Self-loops are removed; the mean is weighted by the
    weights of edges. Args and shapes are those of :class:`ResidualStack`.
    """

    def init_conv(self, channels: int) -> SAGEConv:
        return SAGEConv(channels, channels)

    def convolve(self, conv: SAGEConv, data: Data, x: Tensor) -> Tensor:
        """Return what ``conv(x, edge_index)`` would, by one sparse product."""
        mean = propagation(data, "row", loops=False)
        out: Tensor = conv.lin_l(mean(x)) + conv.lin_r(x)
        return out


@register_model(
    "res-graphsage",
    paper="Luo et al. (NeurIPS 2024)",
    needs="the edges",
    scales=True,
    options=OPTIONS,
)
def build_res_graphsage(data: Data, config: Config, spec: GraphSpec) -> ResGraphSAGE:
    """Build a deep GraphSAGE for a graph."""
    found, normalise = deep_arguments(data, config, spec)
    return ResGraphSAGE(*found, normalise)
