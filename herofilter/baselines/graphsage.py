"""GraphSAGE: a node's own vector and the mean of its neighbours have weights of their own."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.conv_stack import ConvStack
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear


class GraphSAGE(ConvStack):
    r"""GraphSAGE with the mean of all neighbours (Hamilton et al., NeurIPS 2017).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{self}} +
        \mathbf{D}^{-1} \mathbf{A} \mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{mean}} +
        \mathbf{b}^{(l)})

    Self-loops are removed, since a node's own vector has its own weight; the mean is weighted by
    the weights of edges. Args and shapes are those of :class:`ConvStack`.
    """

    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        pairs = list(itertools.pairwise(widths))
        convs = nn.ModuleList(SAGEConv(*pair, bias=False) for pair in pairs)
        for conv, (before, after) in zip(convs, pairs, strict=True):
            # the same maps, but such as take sparse features; the bias goes to the node's own
            # part, so that the mean can be taken after the map, over fewer channels
            conv.lin_l = FeatureLinear(before, after, bias=False)
            conv.lin_r = FeatureLinear(before, after)
        return convs

    def convolve(self, conv: SAGEConv, data: Data, x: Tensor) -> Tensor:
        """Return what ``conv(x, edge_index)`` would, by one sparse product."""
        mean = propagation(data, "row", loops=False)
        out: Tensor = mean(conv.lin_l(x)) + conv.lin_r(x)
        return out


@register_model("graphsage", paper="Hamilton et al. (NeurIPS 2017)", needs="the edges", scales=True)
def build_graphsage(data: Data, config: Config, spec: GraphSpec) -> GraphSAGE:
    """Build a GraphSAGE for a graph."""
    return GraphSAGE(*arguments(data, config, spec))
