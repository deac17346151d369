"""Res-GAT: a deep GAT with residual connections."""

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from herofilter.baselines.edge_list import edges_of
from herofilter.baselines.gat import attend
from herofilter.baselines.residual_stack import (
    DEPTH,
    NORM,
    OPTIONS,
    ResidualStack,
    deep_arguments,
)
from herofilter.baselines.token_block import check_heads
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import register_model


class ResGAT(ResidualStack):
    r"""GAT with residual connections (Luo et al., NeurIPS 2024).

    .. math::
        \mathbf{h}^{(l+1)}_v = \mathrm{ReLU}\Big(\mathrm{norm}\Big(\sum_u \alpha_{vu}
        \mathbf{W}^{(l)}_1 \mathbf{h}^{(l)}_u + \mathbf{W}^{(l)}_2 \mathbf{h}^{(l)}_v\Big)\Big)

    The attention is that of :class:`GAT` without dropout and without self-loops: the softmax runs
    over the distinct neighbours, and the node itself enters through the residual connection.
    Weights of edges are ignored.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers, all heads together.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 1.
        dropout: after the projection of the features and after every convolution.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        normalise: ``layer`` for LayerNorm, ``batch`` for BatchNorm over all nodes, or ``none``.
        heads: of each convolution; they must divide ``hidden_channels``.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = DEPTH,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        normalise: str = NORM,
        heads: int = 1,
    ) -> None:
        check_heads(hidden_channels, heads)
        # before the constructor, which calls init_conv
        self.heads = heads
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
            normalise,
        )

    def init_conv(self, channels: int) -> GATConv:
        return GATConv(channels, channels // self.heads, self.heads, add_self_loops=False)

    def convolve(self, conv: GATConv, data: Data, x: Tensor) -> Tensor:
        return attend(conv, edges_of(data, loops=False), x, Dropout(0.0))


@register_model(
    "res-gat",
    paper="Luo et al. (NeurIPS 2024)",
    needs="the edges, with one weight per head",
    scales=True,
    options={**OPTIONS, "heads": (1, 4)},
)
def build_res_gat(data: Data, config: Config, spec: GraphSpec) -> ResGAT:
    """Build a deep GAT for a graph."""
    found, normalise = deep_arguments(data, config, spec)
    return ResGAT(*found, normalise, config.baseline.heads or 1)
