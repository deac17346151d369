"""Dir-GNN: convolutions with separate weights for incoming and outgoing edges."""

import itertools

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import DirGNNConv, GCNConv, SAGEConv

from herofilter.baselines.adjacency import Propagation, adjacency, normalised
from herofilter.baselines.gcn import gcn_conv
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.baselines.jumping_stack import JumpingStack
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError, check_choice
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import FeatureLinear

CONVOLUTIONS = ("gcn", "sage")
# the share of outgoing edges
ALPHAS = {"both": 0.5, "in": 0.0, "out": 1.0}
DEPTH = 3


def directions(data: Data, convolution: str) -> tuple[Propagation, Propagation]:
    r"""Return the products over incoming and over outgoing edges, cached on the graph.

    ``gcn`` divides the weight of an edge u → v by :math:`\sqrt{d^{out}_u d^{in}_v}`, ``sage`` takes
    the mean. Self-loops are removed.

    Example:
        >>> data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        >>> [propagate(torch.eye(2)).tolist() for propagate in directions(data, "sage")]
        [[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]
    """
    return cached_on_graph(
        data, ("directions", convolution), lambda: _directions(data, convolution)
    )


class DirGNN(JumpingStack):
    r"""Directed graph neural network (Rossi et al., LoG 2023).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{ReLU}\big((1 - \alpha) \mathbf{A}_{\mathrm{in}}
        \mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{in}} + \alpha \mathbf{A}_{\mathrm{out}}
        \mathbf{H}^{(l)} \mathbf{W}^{(l)}_{\mathrm{out}} + \mathbf{H}^{(l)}
        \mathbf{W}^{(l)}_{\mathrm{self}}\big)

    with the matrices of :func:`directions` and jumping knowledge. As in the paper, ``sage`` has the
    last term and ``gcn`` hasn't. Where directions are ignored, both matrices are the same.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 1.
        dropout: before every convolution but the first, and before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        mode: how the classifier sees the convolutions: ``max`` or ``cat``.
        convolution: ``gcn`` or ``sage``.
        alpha: α, the share of outgoing edges; 0 reads incoming edges only.

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
        mode: str = "cat",
        convolution: str = "sage",
        alpha: float = 0.5,
    ) -> None:
        check_choice("convolution", convolution, CONVOLUTIONS)
        if not 0 <= alpha <= 1:
            raise ConfigError(f"alpha must be between 0 and 1 (got {alpha:g})")
        # before the constructor, which calls init_convs
        self.convolution, self.alpha = convolution, alpha
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
            mode,
        )

    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        return nn.ModuleList(self._conv(*pair) for pair in itertools.pairwise(widths))

    def convolve(self, conv: DirGNNConv, data: Data, x: Tensor) -> Tensor:
        """Return what ``conv(x, edge_index)`` would, by a sparse product for each direction."""
        inwards, outwards = directions(data, self.convolution)
        terms = [] if conv.lin is None else [conv.lin(x)]
        if self.alpha < 1:
            terms.append((1 - self.alpha) * self._messages(conv.conv_in, inwards, x))
        if self.alpha > 0:
            terms.append(self.alpha * self._messages(conv.conv_out, outwards, x))
        return torch.stack(terms).sum(0)

    def _messages(self, part: GCNConv | SAGEConv, propagate: Propagation, x: Tensor) -> Tensor:
        if isinstance(part, GCNConv):
            return gcn_conv(part, propagate, x)
        return propagate(part.lin_l(x))

    def _conv(self, before: int, after: int) -> DirGNNConv:
        # the same maps as PyG's, but such as take sparse features
        if self.convolution == "gcn":
            conv = DirGNNConv(GCNConv(before, after), self.alpha, root_weight=False)
            for part in (conv.conv_in, conv.conv_out):
                part.lin = FeatureLinear(before, after, bias=False)
            return conv
        # the bias goes to the node's own part, so that the mean can be taken after the map
        conv = DirGNNConv(SAGEConv(before, after, root_weight=False, bias=False), self.alpha)
        for part in (conv.conv_in, conv.conv_out):
            part.lin_l = FeatureLinear(before, after, bias=False)
        conv.lin = FeatureLinear(before, after)
        return conv


@register_model(
    "dir-gnn",
    paper="Rossi et al. (LoG 2023)",
    needs="the edges",
    scales=True,
    directed=True,
    options={
        "depth": (2, 3, 5),
        "conv": CONVOLUTIONS,
        "direction": tuple(ALPHAS),
    },
)
def build_dir_gnn(data: Data, config: Config, spec: GraphSpec) -> DirGNN:
    """Build a Dir-GNN for a graph."""
    settings = config.baseline
    return DirGNN(
        *arguments(data, config, spec)._replace(num_layers=settings.depth or DEPTH),
        convolution="sage" if settings.conv == "own" else settings.conv,
        alpha=ALPHAS.get(settings.direction, 0.5),
    )


def _directions(data: Data, convolution: str) -> tuple[Propagation, Propagation]:
    # row v has the edges into v
    matrix, device = adjacency(data, loops=False), data.edge_index.device
    if convolution == "sage":
        inwards, outwards = (
            Propagation.of(normalised(one, "row"), device)
            for one in (matrix, sp.csr_array(matrix.T))
        )
        return inwards, outwards
    scales = []
    for axis in (1, 0):
        degree = np.asarray(matrix.sum(axis=axis)).reshape(-1)
        scale = np.zeros_like(degree)
        np.power(degree, -0.5, out=scale, where=degree > 0)
        scales.append(sp.diags_array(scale))
    inwards = Propagation.of(sp.csr_array(scales[0] @ matrix @ scales[1]), device)
    return inwards, Propagation(inwards.transposed, inwards.matrix)
