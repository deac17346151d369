"""ChebNet: graph convolutions by Chebyshev polynomials of the Laplacian."""

import itertools

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import ChebConv

from herofilter.baselines.chebyshev import shifted_laplacian
from herofilter.baselines.conv_stack import ConvStack
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear
from herofilter.spectral.chebyshev import chebyshev_sum

HOPS = 1


class ChebNet(ConvStack):
    r"""Chebyshev spectral network (Defferrard et al., NeurIPS 2016).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}\Big(\sum_{k=0}^K T_k(\mathbf{L} - \mathbf{I})
        \mathbf{H}^{(l)} \mathbf{W}^{(l)}_k + \mathbf{b}^{(l)}\Big), \qquad
        \mathbf{L} = \mathbf{I} - \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}

    The largest eigenvalue of **L** is replaced by its upper bound, 2.

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
        # before the constructor, which calls init_convs
        self.hops = hops
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
        )

    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        # PyG counts the terms, one more than the order
        terms = self.hops + 1
        convs = nn.ModuleList(ChebConv(*pair, terms) for pair in itertools.pairwise(widths))
        # the same maps, but such as take sparse features
        convs[0].lins = nn.ModuleList(
            FeatureLinear(widths[0], widths[1], bias=False) for _ in range(terms)
        )
        return convs

    def convolve(self, conv: ChebConv, data: Data, x: Tensor) -> Tensor:
        """Return what ``conv(x, edge_index, edge_weight, lambda_max=2)`` would.

        The sparse products come after the linear maps, whose outputs are narrower.
        """
        terms = [lin(x) for lin in conv.lins]
        out: Tensor = chebyshev_sum(shifted_laplacian(data), terms) + conv.bias
        return out


@register_model(
    "chebnet",
    paper="Defferrard et al. (NeurIPS 2016)",
    needs="the edges",
    scales=True,
    options={"hops": (1, 2, 3)},
)
def build_chebnet(data: Data, config: Config, spec: GraphSpec) -> ChebNet:
    """Build a ChebNet for a graph."""
    return ChebNet(*arguments(data, config, spec), config.baseline.hops or HOPS)
