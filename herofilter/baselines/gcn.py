"""GCN: graph convolutions with the symmetrically normalised adjacency."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.baselines.conv_stack import ConvStack
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear


def gcn_conv(conv: GCNConv, propagate: Propagation, x: Tensor) -> Tensor:
    """Return what ``conv(x, edge_index, edge_weight)`` would, by one sparse product."""
    out: Tensor = propagate(conv.lin(x)) + conv.bias
    return out


class GCN(ConvStack):
    r"""Graph convolutional network (Kipf and Welling, ICLR 2017).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\tilde{\mathbf{A}} \mathbf{H}^{(l)} \mathbf{W}^{(l)})

    Args and shapes are those of :class:`ConvStack`.
    """

    @property
    def reach(self) -> int | None:
        return len(self.convs)

    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        convs = nn.ModuleList(itertools.starmap(GCNConv, itertools.pairwise(widths)))
        # the same map, but one that takes sparse features
        convs[0].lin = FeatureLinear(widths[0], widths[1], bias=False)
        return convs

    def convolve(self, conv: GCNConv, data: Data, x: Tensor) -> Tensor:
        return gcn_conv(conv, propagation(data), x)


@register_model("gcn", paper="Kipf and Welling (ICLR 2017)", needs="the edges", scales=True)
def build_gcn(data: Data, config: Config, spec: GraphSpec) -> GCN:
    """Build a GCN for a graph."""
    return GCN(*arguments(data, config, spec))
