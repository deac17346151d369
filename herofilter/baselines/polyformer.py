"""PolyFormer: attention among polynomial tokens, which is a polynomial filter for each node."""

from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.poly_attention import PolyBlock
from herofilter.baselines.token_encoder import read_in_chunks
from herofilter.baselines.token_transformer import TokenTransformer
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model


class PolyFormer(TokenTransformer):
    r"""PolyFormer (Ma et al., KDD 2024): node-wise filters by attention among polynomial tokens.

    .. math::
        \mathbf{H}_k = P_k(\mathbf{A}) \mathbf{X} \mathbf{W} + \mathbf{b}, \qquad
        \mathbf{y}_v = \mathrm{MLP}(\sum_k \mathrm{PolyBlocks}(\mathbf{H}_v)_k)

    The adjacency has no self-loops, so that its spectrum may reach both ends of [-1, 1]. See
    :meth:`~TokenTransformer.for_graph` on ``full_batch``.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token, a multiple of ``heads``.
        out_channels: number of classes.
        num_layers: blocks.
        dropout: in the blocks and the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the largest order, at least 1.
        heads: heads of attention.
        basis: ``monomial``, ``bernstein`` or ``chebyshev``.

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
        hops: int = 6,
        heads: int = 1,
        basis: str = "chebyshev",
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, hops, input_dropout, num_embeddings, basis, loops=False
        )
        self.blocks = nn.ModuleList(
            PolyBlock(hidden_channels, hops + 1, heads, dropout) for _ in range(num_layers)
        )
        self.head = Head(hidden_channels, hidden_channels, out_channels, 2, dropout)

    def encode(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        logits: Tensor = self.head(read_in_chunks(self.read, tokens, mask))
        return logits

    def read(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return one vector for each node: ``[b, K + 1, h]`` to ``[b, h]``."""
        for block in self.blocks:
            tokens = block(tokens)
        return tokens.sum(1)


@register_model(
    "polyformer",
    paper="Ma et al. (KDD 2024)",
    needs="the edges and n·(K+1)·f polynomial features up to 1 GiB",
    scales=True,
    batches=True,
    options={"hops": (4, 6, 10), "heads": (1, 4), "basis": ("chebyshev", "monomial", "bernstein")},
)
def build_polyformer(data: Data, config: Config, spec: GraphSpec) -> PolyFormer:
    """Build PolyFormer for a graph."""
    basis = config.baseline.basis
    return PolyFormer(
        *arguments(data, config, spec, least_layers=1),
        hops=config.baseline.hops or 6,
        heads=config.baseline.heads or 1,
        basis="chebyshev" if basis == "own" else basis,
    ).for_graph(data)
