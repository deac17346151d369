"""Polynomial tokens: a node's features filtered by polynomials of the adjacency."""

import math

import numpy as np
import torch
from numpy.polynomial import chebyshev as cheb
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.adjacency import Propagation, propagation
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.errors import ConfigError, check_choice
from herofilter.memory import check_memory
from herofilter.nn.classifier import select
from herofilter.nn.dropout import Dropout
from herofilter.nn.stem import FeatureLinear

TOKEN_BASES = ("monomial", "bernstein", "chebyshev")
TABLE_BYTES = 2**30


class PolynomialTokens(nn.Module):
    r"""The tokens :math:`P_0(\mathbf{A}) \mathbf{X} \mathbf{W} + \mathbf{b}, \dots,
    P_K(\mathbf{A}) \mathbf{X} \mathbf{W} + \mathbf{b}` of nodes.

    With the symmetrically normalised adjacency :math:`\mathbf{A}` and :math:`\mathbf{L} =
    \mathbf{I} - \mathbf{A}`, the polynomials are

    .. math::
        \mathbf{A}^k, \qquad
        \tbinom{K}{k} 2^{-K} (2\mathbf{I} - \mathbf{L})^{K-k} \mathbf{L}^k, \qquad
        T_k(\mathbf{L} - \mathbf{I})

    for ``monomial``, ``bernstein`` and ``chebyshev``. Each takes K sparse products: the Bernstein
    polynomials are computed from the Chebyshev ones by a small matrix.

    The products with the adjacency and with the weight commute. Dense features whose tokens fit
    into 1 GiB are propagated once per graph and cached, so that the cost of a mini-batch depends
    on its own nodes only. Wide sparse features and learned vectors are projected first, which is
    cheaper for them but passes over the complete graph at each call.

    Args:
        in_channels: width of the features.
        hidden_channels: width of a token.
        hops: K, at least 1.
        basis: ``monomial``, ``bernstein`` or ``chebyshev``.
        loops: whether nodes get self-loops before the adjacency is normalised.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; nodes: ``[b]`` or None for all
        - output: ``[b, K + 1, hidden_channels]``
    """

    mixing: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        hops: int,
        basis: str = "monomial",
        loops: bool = True,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
    ) -> None:
        super().__init__()
        check_choice("basis", basis, TOKEN_BASES)
        if hops < 1:
            raise ConfigError(f"hops must be at least 1 (got {hops})")
        self.hops, self.basis, self.loops = hops, basis, loops
        self.input_dropout = Dropout(input_dropout)
        self.linear = FeatureLinear(in_channels, hidden_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(hidden_channels))
        self.embedding = nn.Embedding(num_embeddings, hidden_channels) if num_embeddings else None
        mixing = bernstein_in_chebyshev(hops) if basis == "bernstein" else torch.empty(0)
        self.register_buffer("mixing", mixing, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()
        bound = 1 / math.sqrt(max(self.linear.in_channels, 1))
        nn.init.uniform_(self.bias, -bound, bound)
        if self.embedding is not None:
            nn.init.normal_(self.embedding.weight, std=0.1)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        if self.caches_features(data):
            # [b, K + 1, f] -> [b, K + 1, h]
            tokens = self.linear(self.input_dropout(select(self.propagated_features(data), nodes)))
        else:
            hidden = self.propagate(data, self.project(data.x))
            tokens = torch.stack([select(token, nodes) for token in hidden], dim=1)
        if self.basis == "bernstein":
            tokens = torch.einsum("kj,bjh->bkh", self.mixing, tokens)
        out: Tensor = tokens + self.bias
        return out

    def project(self, x: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return the features of ``nodes`` (all when None) times the weight, without the bias."""
        hidden: Tensor = self.linear(self.input_dropout(select(x, nodes)))
        return hidden if self.embedding is None else hidden + select(self.embedding.weight, nodes)

    def caches_features(self, data: Data) -> bool:
        """Return whether the graph's features are propagated once, and not at each call."""
        dense = data.x.layout == torch.strided and self.embedding is None
        return dense and self._table_bytes(data.x) <= TABLE_BYTES

    def propagated_features(self, data: Data) -> Tensor:
        """Return the filtered features ``[n, K + 1, f]`` of all nodes, cached on the graph."""
        # one table per graph: those of other hyperparameters would live as long as the graph
        tables: dict[tuple[object, ...], Tensor] = cached_on_graph(data, ("token table",), dict)
        key = (self.hops, self.basis == "monomial", self.loops)
        if key not in tables:
            tables.clear()
            check_memory(
                2 * self._table_bytes(data.x),
                f"{self.hops + 1} tokens of {data.x.size(0)} nodes",
                "use fewer hops",
            )
            # another kernel computes gradients, and adds up in another order
            with torch.no_grad():
                tables[key] = torch.stack(self.propagate(data, data.x), dim=1)
        return tables[key]

    def propagate(self, data: Data, hidden: Tensor) -> list[Tensor]:
        """Return the powers of the adjacency, or its Chebyshev polynomials, times ``hidden``."""
        matrix = propagation(data, "sym", self.loops)
        if self.basis == "monomial":
            return powers(matrix, hidden, self.hops)
        return chebyshev(matrix, hidden, self.hops)

    def _table_bytes(self, x: Tensor) -> int:
        return 4 * (self.hops + 1) * x.size(0) * x.size(1)


def powers(matrix: Propagation, hidden: Tensor, hops: int) -> list[Tensor]:
    r"""Return :math:`\mathbf{A}^k \mathbf{H}` for k from 0 to ``hops``."""
    tokens = [hidden]
    for _ in range(hops):
        tokens.append(matrix(tokens[-1]))
    return tokens


def chebyshev(matrix: Propagation, hidden: Tensor, hops: int) -> list[Tensor]:
    r"""Return :math:`T_k(\mathbf{L} - \mathbf{I}) \mathbf{H} = T_k(-\mathbf{A}) \mathbf{H}`."""
    tokens = [hidden, -matrix(hidden)]
    for _ in range(hops - 1):
        tokens.append(-2 * matrix(tokens[-1]) - tokens[-2])
    return tokens


def bernstein_in_chebyshev(order: int) -> Tensor:
    r"""Return the Chebyshev coefficients of the Bernstein polynomials on [0, 2].

    Row k has the :math:`c_{kj}` of :math:`\tbinom{K}{k} 2^{-K} (2 - \lambda)^{K-k} \lambda^k =
    \sum_j c_{kj} T_j(\lambda - 1)`.

    Example:
        >>> bernstein_in_chebyshev(1).tolist()
        [[0.5, -0.5], [0.5, 0.5]]
    """

    rows = np.zeros((order + 1, order + 1))
    for k in range(order + 1):
        rows[k] = math.comb(order, k) * cheb.chebmul(
            cheb.chebpow((0.5, -0.5), order - k, order), cheb.chebpow((0.5, 0.5), k, order)
        )
    return torch.from_numpy(rows).float()
