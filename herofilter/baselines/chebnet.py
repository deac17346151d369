"""ChebNet: the baseline whose convolutions are Chebyshev polynomials of the Laplacian."""

import itertools
from collections.abc import Callable

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import ChebConv

from herofilter.baselines.chebyshev import chebyshev_sum, shifted_laplacian
from herofilter.config import Config
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear, Stem

HOPS = 1


class ChebNet(NodeClassifier):
    r"""Chebyshev spectral network (Defferrard et al., NeurIPS 2016).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}\Big(\sum_{k=0}^K T_k(\mathbf{L} - \mathbf{I})
        \mathbf{H}^{(l)} \mathbf{W}^{(l)}_k + \mathbf{b}^{(l)}\Big), \qquad
        \mathbf{L} = \mathbf{I} - \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}

    The largest eigenvalue of **L** is taken to be 2, its bound.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every convolution but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        hops: K, the order of the polynomials.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR; data.edge_index: ``[2, E]``
        - output: ``[b, out_channels]``
    """

    whole_graph = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: float = 0.5,
        num_embeddings: int = 0,
        hops: int = HOPS,
    ) -> None:
        super().__init__()
        self.stem = None
        if num_embeddings:
            self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
            in_channels = hidden_channels
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        # PyG counts the terms, of which there is one more than the order says
        self.convs = nn.ModuleList(
            ChebConv(before, after, hops + 1) for before, after in itertools.pairwise(widths)
        )
        # the same maps, but such as take sparse features
        self.convs[0].lins = nn.ModuleList(
            FeatureLinear(in_channels, widths[1], bias=False) for _ in range(hops + 1)
        )
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        for conv in self.convs:
            if isinstance(conv, ChebConv):
                conv.reset_parameters()
        if self.stem is not None:
            self.stem.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.input_dropout(data.x if self.stem is None else self.stem(data.x))
        step = shifted_laplacian(data)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(x.relu())
            x = expand(conv, step, x)
        return select(x, nodes)


def expand(conv: ChebConv, step: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return what ``conv(x, edge_index, edge_weight, lambda_max=2)`` would.

    The products are with what the linear maps give, which is narrower than the features.
    """
    out: Tensor = chebyshev_sum(step, [lin(x) for lin in conv.lins]) + conv.bias
    return out


@register_model(
    "chebnet",
    paper="Defferrard et al. (NeurIPS 2016)",
    needs="the edges",
    scales=True,
    options={"hops": (1, 2, 3)},
)
def build_chebnet(data: Data, config: Config) -> ChebNet:
    """Build a ChebNet for a graph."""
    return ChebNet(
        *arguments(data, config),
        config.baseline.hops or HOPS,
    )
