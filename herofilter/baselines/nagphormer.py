"""NAGphormer: a transformer over the neighbourhoods of each node, one token per hop."""

import math

from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.token_encoder import TokenEncoder
from herofilter.baselines.token_transformer import TokenTransformer
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model


class NAGphormer(TokenTransformer):
    r"""Neighbourhood-aggregation graph transformer (Chen et al., ICLR 2023).

    Each node has K + 1 tokens, the aggregated features of hop 0 to hop K, and the transformer runs
    over the tokens of one node at a time:

    .. math::
        \mathbf{z}_{v,k} = (\tilde{\mathbf{A}}^k \mathbf{X})_v \mathbf{W} + \mathbf{b}, \qquad
        \mathbf{y}_v = \mathrm{MLP}(\mathrm{Readout}(\mathrm{Transformer}(
        \mathbf{z}_{v,0}, \dots, \mathbf{z}_{v,K})))

    :math:`\tilde{\mathbf{A}}` has self-loops. The read-out is that of :class:`TokenEncoder`. The
    paper's optional Laplacian eigenvectors are left out. See
    :meth:`~TokenTransformer.for_graph` on ``full_batch``.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token, a multiple of ``heads``.
        out_channels: number of classes.
        num_layers: transformer layers.
        dropout: in the transformer and the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, at least 1.
        heads: heads of attention.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 1,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        hops: int = 5,
        heads: int = 2,
    ) -> None:
        super().__init__(in_channels, hidden_channels, hops, input_dropout, num_embeddings)
        self.encoder = TokenEncoder(hidden_channels, out_channels, num_layers, heads, dropout)

    def encode(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        logits: Tensor = self.encoder(tokens, mask)
        return logits


@register_model(
    "nagphormer",
    paper="Chen et al. (ICLR 2023)",
    needs="the edges and n·(K+1)·f hop features up to 1 GiB",
    scales=True,
    batches=True,
    options={"hops": (3, 5, 10), "heads": (1, 2, 4)},
)
def build_nagphormer(data: Data, config: Config, spec: GraphSpec) -> NAGphormer:
    """Build NAGphormer for a graph."""
    width = config.model.hidden_channels
    return NAGphormer(
        *arguments(data, config, spec, least_layers=1),
        hops=config.baseline.hops or 5,
        heads=config.baseline.heads or math.gcd(width, 2),
    ).for_graph(data)
