"""Polynormer: layers that multiply hidden vectors, first along edges and then over all nodes."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.attention import PolynormerAttention

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.feature_model import FeatureModel
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.token_block import check_heads
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import select
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear


class Polynormer(FeatureModel):
    r"""Polynomial-expressive graph transformer (Deng et al., ICLR 2024), as PyG has it.

    .. math::
        \mathbf{Y} = \mathrm{ReLU}(\mathrm{BN}(\tilde{\mathbf{A}} \mathbf{X} \mathbf{W} +
        \mathbf{X} \mathbf{W}')), \qquad
        \mathbf{X} \leftarrow (1 - \beta) \, \mathrm{LN}(\mathrm{ReLU}(\mathbf{X} \mathbf{W}_h)
        \odot \mathbf{Y}) + \beta \mathbf{Y}

    so that each layer doubles the degree of the polynomial; the sum of the layers goes through
    linear attention over all nodes, whose output is again multiplied by a gate.

    Training has two stages, as in the paper: for the first ``local_steps`` steps the logits come
    from the layers along edges, afterwards from the attention on top of them. The steps are
    counted in a buffer, as in batch normalisation, so that a saved state includes its stage.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of layers along edges.
        dropout: after every hidden layer.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: heads of attention, a divisor of the width.
        global_layers: number of layers over all nodes.
        beta: β, the weight of a layer's output that isn't multiplied.
        local_steps: training steps without the attention.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    full_batch = True
    steps: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        heads: int = 1,
        global_layers: int = 2,
        beta: float = 0.9,
        local_steps: int = 50,
    ) -> None:
        check_heads(hidden_channels, heads)
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        self.beta, self.local_steps = beta, local_steps
        widths = [self.in_channels, *[hidden_channels] * (num_layers - 1)]
        self.gates = nn.ModuleList(FeatureLinear(width, hidden_channels) for width in widths)
        self.lins = nn.ModuleList(FeatureLinear(width, hidden_channels) for width in widths)
        self.convs = nn.ModuleList(GCNConv(width, hidden_channels) for width in widths)
        # the same map, but one that takes sparse features
        self.convs[0].lin = FeatureLinear(self.in_channels, hidden_channels, bias=False)
        self.batch_norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in widths)
        self.layer_norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in widths)
        self.global_norm = nn.LayerNorm(hidden_channels)
        self.attentions = nn.ModuleList(
            PolynormerAttention(
                hidden_channels, heads, hidden_channels // heads, beta, qk_shared=False
            )
            for _ in range(global_layers)
        )
        self.local_head = nn.Linear(hidden_channels, out_channels)
        self.global_head = nn.Linear(hidden_channels, out_channels)
        self.register_buffer("steps", torch.tensor(0))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.steps.zero_()

    @property
    def is_global(self) -> bool:
        """Whether the logits come from the attention over all nodes."""
        return int(self.steps) > self.local_steps

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        if self.training:
            self.steps += 1
        x = self.features(data)
        hidden = self._local(x, data)
        if not self.is_global:
            logits: Tensor = self.local_head(select(hidden, nodes))
            return logits
        # PyG's layer takes a batch of graphs: [1, n, h]
        hidden = self.global_norm(hidden).unsqueeze(0)
        for attention in self.attentions:
            hidden = self.dropout(attention(hidden))
        logits = self.global_head(select(hidden.squeeze(0), nodes))
        return logits

    def _local(self, x: Tensor, data: Data) -> Tensor:
        propagate = propagation(data)
        layers = (self.gates, self.lins, self.convs, self.batch_norms, self.layer_norms)
        total: Tensor | None = None
        for gate, lin, conv, batch_norm, layer_norm in zip(*layers, strict=True):
            factor = gate(x).relu()
            x = self.dropout(batch_norm(gcn_conv(conv, propagate, x) + lin(x)).relu())
            x = (1 - self.beta) * layer_norm(factor * x) + self.beta * x
            total = x if total is None else total + x
        return x if total is None else total


@register_model(
    "polynormer",
    paper="Deng et al. (ICLR 2024)",
    needs="the edges",
    scales=True,
    options={"heads": (1, 4, 8)},
)
def build_polynormer(data: Data, config: Config, spec: GraphSpec) -> Polynormer:
    """Build a Polynormer for a graph."""
    return Polynormer(*arguments(data, config, spec), heads=config.baseline.heads or 1)
