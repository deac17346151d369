"""G²-GCN: a GCN whose updates are gated by how much a node differs from its neighbours."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.neighbour_differences import neighbour_differences
from herofilter.baselines.reset import reset_children
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError, check_choice
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem

NORMS = {"sum": "none", "mean": "row"}


class G2GCN(NodeClassifier):
    r"""Gradient gating over a GCN (Rusch et al., ICLR 2023).

    .. math::
        \mathbf{Y} = \mathrm{ReLU}(\mathrm{GCN}_\tau(\mathbf{X})), \qquad
        \tau_{vc} = \tanh\Big(\sum_{u \in N(v)} |Y_{vc} - Y_{uc}|^p\Big), \qquad
        \mathbf{X} \leftarrow (1 - \tau) \odot \mathbf{X} +
        \tau \odot \mathrm{ReLU}(\mathrm{GCN}(\mathbf{X}))

    Each channel of each node has its own rate, which is zero where the node is equal to its
    neighbours; this prevents over-smoothing. A linear encoder comes first and a linear decoder
    last; all steps share their weights, as in the authors' experiments.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of steps.
        dropout: before the decoder.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        p: the power of the differences, at least 1.
        gate: whether τ has the ``sum`` over neighbours, as in the formula, or their ``mean``.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        p: float = 2.0,
        gate: str = "sum",
    ) -> None:
        super().__init__()
        check_choice("gate", gate, NORMS)
        if not p >= 1:
            raise ConfigError(f"p must be at least 1 (got {p:g})")
        self.num_layers, self.p, self.norm = num_layers, p, NORMS[gate]
        self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
        self.conv = GCNConv(hidden_channels, hidden_channels)
        self.gate_conv = GCNConv(hidden_channels, hidden_channels)
        self.decoder = Head(hidden_channels, hidden_channels, out_channels, 1, dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def gate(self, data: Data, x: Tensor) -> Tensor:
        """Return τ, the rate of each node and channel: ``[n, h]``."""
        hidden = gcn_conv(self.gate_conv, propagation(data), x).relu()
        neighbours = propagation(data, self.norm, loops=False)
        return neighbour_differences(neighbours, hidden, self.p).tanh()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.stem(data.x)
        for _ in range(self.num_layers):
            rate = self.gate(data, x)
            x = x + rate * (gcn_conv(self.conv, propagation(data), x).relu() - x)
        logits: Tensor = self.decoder(select(x, nodes))
        return logits


@register_model(
    "g2-gcn",
    paper="Rusch et al. (ICLR 2023)",
    needs="the edges",
    scales=True,
    options={"hops": (2, 4, 8)},
)
def build_g2_gcn(data: Data, config: Config, spec: GraphSpec) -> G2GCN:
    """Build a G²-GCN for a graph."""
    shape = arguments(data, config, spec)
    return G2GCN(*shape._replace(num_layers=config.baseline.hops or shape.num_layers))
