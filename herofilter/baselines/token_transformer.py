"""The base of token transformers: NAGphormer, PolyFormer, VCR-Graphormer."""

from abc import abstractmethod
from typing import Self

from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.polynomial_tokens import PolynomialTokens
from herofilter.baselines.reset import reset_children
from herofilter.nn.classifier import NodeClassifier


class TokenTransformer(NodeClassifier):
    r"""A transformer over a short sequence of tokens of each node, which the graph gives.

    .. math::
        \mathbf{y}_v = \mathrm{Encode}(\mathbf{z}_{v,0}, \dots, \mathbf{z}_{v,K}), \qquad
        \mathbf{z}_{v,k} = (P_k(\mathbf{A}) \mathbf{X})_v \mathbf{W} + \mathbf{b}

    A subclass has the transformer, its read-out and the classifier in :meth:`encode`; it may add
    tokens in :meth:`sequence`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token.
        hops: K, at least 1.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        basis: the polynomials :math:`P_k`, see :class:`PolynomialTokens`.
        loops: whether nodes get self-loops before the adjacency is normalised.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        hops: int,
        input_dropout: float,
        num_embeddings: int,
        basis: str = "monomial",
        loops: bool = True,
    ) -> None:
        super().__init__()
        self.tokens = PolynomialTokens(
            in_channels, hidden_channels, hops, basis, loops, input_dropout, num_embeddings
        )

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        return self.encode(*self.sequence(data, nodes))

    def sequence(self, data: Data, nodes: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the tokens ``[b, t, h]``, and a mask ``[b, t]`` that is false at padding.

        The mask is None where all nodes have equally many tokens.
        """
        return self.tokens(data, nodes), None

    @abstractmethod
    def encode(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return the logits of nodes from their tokens: ``[b, t, h]`` to ``[b, out_channels]``."""

    def for_graph(self, data: Data) -> Self:
        """Return the model, its ``full_batch`` set if the tokens of this graph can't be cached.

        Each step then passes over the graph, see :class:`PolynomialTokens`.
        """
        self.full_batch = not self.tokens.caches_features(data)
        return self
