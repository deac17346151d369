"""SGFormer: a layer of linear attention over all nodes beside a GCN."""

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.attention import SGFormerAttention

from herofilter.baselines.adjacency import propagation
from herofilter.baselines.feature_model import FeatureModel
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.token_block import check_heads
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import select
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear


class SGFormer(FeatureModel):
    r"""Simplified graph transformer (Wu et al., NeurIPS 2023), as PyG has it.

    .. math::
        \mathbf{Z} = \mathbf{D}^{-1} \left( \mathbf{V} + \tfrac{1}{n}
        \tilde{\mathbf{Q}} (\tilde{\mathbf{K}}^\top \mathbf{V}) \right), \qquad
        \mathbf{D} = \mathrm{diag}\left( \mathbf{1} + \tfrac{1}{n}
        \tilde{\mathbf{Q}} (\tilde{\mathbf{K}}^\top \mathbf{1}) \right)

    with normalised queries and keys, without a matrix of all pairs. The output is a
    linear map of :math:`(1 - \alpha) \mathbf{Z} + \alpha \, \mathrm{GCN}(\mathbf{X})`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions of the GCN.
        dropout: after every hidden layer.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        heads: heads of attention, each of the full width; a divisor of the width.
        alpha: α, the weight of the GCN in the output.
        attention_layers: number of layers of attention.

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
        heads: int = 1,
        alpha: float = 0.5,
        attention_layers: int = 1,
    ) -> None:
        check_heads(hidden_channels, heads)
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        self.alpha = alpha
        self.attention_in = FeatureLinear(self.in_channels, hidden_channels)
        self.attentions = nn.ModuleList(
            SGFormerAttention(hidden_channels, heads, hidden_channels)
            for _ in range(attention_layers)
        )
        self.attention_norms = nn.ModuleList(
            nn.LayerNorm(hidden_channels) for _ in range(attention_layers + 1)
        )
        self.graph_in = FeatureLinear(self.in_channels, hidden_channels)
        self.convs = nn.ModuleList(
            GCNConv(hidden_channels, hidden_channels) for _ in range(num_layers)
        )
        self.graph_norms = nn.ModuleList(
            nn.BatchNorm1d(hidden_channels) for _ in range(num_layers + 1)
        )
        self.head = nn.Linear(hidden_channels, out_channels)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.features(data)
        local, distant = self._convolve(x, data), self._attend(x)
        logits: Tensor = self.head(select(self.alpha * local + (1 - self.alpha) * distant, nodes))
        return logits

    def _convolve(self, x: Tensor, data: Data) -> Tensor:
        propagate = propagation(data)
        first: Tensor = self.dropout(self.graph_norms[0](self.graph_in(x)).relu())
        hidden = first
        for conv, norm in zip(self.convs, self.graph_norms[1:], strict=True):
            hidden = self.dropout(norm(gcn_conv(conv, propagate, hidden)).relu()) + first
        return hidden

    def _attend(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.dropout(self.attention_norms[0](self.attention_in(x)).relu())
        for attention, norm in zip(self.attentions, self.attention_norms[1:], strict=True):
            # PyG's layer takes a batch of graphs: [1, n, h]
            attended = attention(hidden.unsqueeze(0)).squeeze(0)
            hidden = self.dropout(norm((attended + hidden) / 2).relu())
        return hidden


@register_model(
    "sgformer",
    paper="Wu et al. (NeurIPS 2023)",
    needs="the edges",
    scales=True,
    options={"heads": (1, 2, 4), "alpha": (0.2, 0.5, 0.8)},
)
def build_sgformer(data: Data, config: Config, spec: GraphSpec) -> SGFormer:
    """Build an SGFormer for a graph; ``alpha`` is the weight of its GCN."""
    return SGFormer(
        *arguments(data, config, spec),
        heads=config.baseline.heads or 1,
        alpha=config.baseline.alpha or 0.5,
    )
