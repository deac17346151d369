"""GCN-JKNet: a GCN whose classifier reads the outputs of all convolutions."""

from torch_geometric.data import Data

from herofilter.baselines.gcn import GCN
from herofilter.baselines.jumping_stack import JumpingStack
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model


class GCNJKNet(JumpingStack, GCN):
    r"""GCN with jumping knowledge (Xu et al., ICML 2018).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}(\tilde{\mathbf{A}} \mathbf{H}^{(l)} \mathbf{W}^{(l)}),
        \qquad \mathbf{Z} = \mathrm{JK}(\mathbf{H}^{(1)}, \dots, \mathbf{H}^{(L)}) \mathbf{W}

    Args and shapes are those of :class:`JumpingStack`.
    """


@register_model("gcn-jknet", paper="Xu et al. (ICML 2018)", needs="the edges", scales=True)
def build_gcn_jknet(data: Data, config: Config, spec: GraphSpec) -> GCNJKNet:
    """Build a GCN with jumping knowledge for a graph."""
    return GCNJKNet(*arguments(data, config, spec))
