"""The first layer: raw features, sparse or dense, to hidden channels."""

import math

import torch
from torch import Tensor, nn

from herofilter.nn.classifier import select
from herofilter.nn.dropout import Dropout
from herofilter.nn.embedding import NodeEmbedding
from herofilter.nn.sparse import sparse_product
from herofilter.spectral.sparse import is_float32_on_cpu
from herofilter.spectral.sparse_rows import LANES


class FeatureLinear(nn.Module):
    r"""A linear layer :math:`\mathbf{X}\mathbf{W} + \mathbf{b}` for dense or sparse features.

    Args:
        in_channels: width of the features.
        out_channels: width of the output.
        bias: whether there is a bias.

    Shapes:
        - input: ``[n, in_channels]``, dense or sparse CSR
        - output: ``[n, out_channels]``
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(max(self.in_channels, 1))
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        sparse = x.layout == torch.sparse_csr
        out = sparse_product(x, self.weight) if sparse else x @ self.weight
        if self.bias is None:
            return out
        return out + self.bias if torch.is_grad_enabled() else out.add_(self.bias)


class Stem(nn.Module):
    r"""Hidden tokens :math:`\mathbf{H} = \mathrm{drop}(\mathrm{ReLU}(\mathbf{W}\,
    \mathrm{drop}(\mathbf{x})))` of all nodes, computed once before patches gather them.

    A graph without features has ``num_embeddings`` learned vectors, one per node, added
    before the activation.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token.
        input_dropout: dropout on the features.
        dropout: dropout on the tokens.
        num_embeddings: number of nodes with a learned vector; 0 for none.

    Shapes:
        - x: ``[n, in_channels]``, dense or sparse CSR; nodes: ``[b]`` or None for all
        - output: ``[b, hidden_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        input_dropout: float = 0.5,
        dropout: float = 0.5,
        num_embeddings: int = 0,
    ) -> None:
        super().__init__()
        self.input_dropout = Dropout(input_dropout)
        self.linear = FeatureLinear(in_channels, hidden_channels)
        self.embedding = NodeEmbedding(num_embeddings, hidden_channels) if num_embeddings else None
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()
        if self.embedding is not None:
            self.embedding.reset_parameters()

    def forward(self, x: Tensor, nodes: Tensor | None = None) -> Tensor:
        return self.from_rows(select(x, nodes), nodes)

    def from_rows(self, rows: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return the tokens of ``nodes`` from their features ``rows``."""
        hidden: Tensor = self.linear(self.input_dropout(rows))
        if self.embedding is not None:
            hidden = hidden + self.embedding(nodes)
        out: Tensor = self.dropout.after_relu(hidden) if torch.is_grad_enabled() else hidden.relu_()
        return out

    def as_layer(self, rows: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return weight and bias if compiled loops can compute the tokens of sparse ``rows``.

        That is so at inference, where tokens are ReLU(x·W + b), on a CPU and in float32.
        """
        weight, bias = self.linear.weight, self.linear.bias
        if torch.is_grad_enabled() or self.training or self.embedding is not None or bias is None:
            return None
        if rows.layout != torch.sparse_csr or weight.size(1) % LANES:
            return None
        return (weight, bias) if is_float32_on_cpu(rows, weight, bias) else None
