"""The base of stacks of graph convolutions: GCN, GraphSAGE, GAT, ChebNet, GCN-JKNet."""

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.baselines.feature_model import FeatureModel
from herofilter.nn.classifier import select


class ConvStack(FeatureModel):
    r"""Graph convolutions one after the other, with an activation and dropout between them.

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{Conv}^{(l)}(\mathrm{drop}(\sigma(\mathbf{H}^{(l)})))

    A subclass makes the layers in :meth:`init_convs` and applies one of them in :meth:`convolve`.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 2.
        dropout: before every convolution but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.

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
    ) -> None:
        super().__init__(in_channels, hidden_channels, dropout, input_dropout, num_embeddings)
        hidden = [hidden_channels] * (num_layers - 1)
        self.convs = self.init_convs([self.in_channels, *hidden, out_channels])

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.features(data)
        for number, conv in enumerate(self.convs):
            if number:
                x = self.dropout(self.activate(x))
            x = self.convolve(conv, data, x)
        return select(x, nodes)

    @abstractmethod
    def init_convs(self, widths: list[int]) -> nn.ModuleList:
        """Return the convolutions, each from one width to the next; the first takes sparse input.

        The constructor calls it, so that attributes which it reads must be set before.
        """

    @abstractmethod
    def convolve(self, conv: Any, data: Data, x: Tensor) -> Tensor:
        """Return the output of one convolution for all nodes: ``[n, c]`` to ``[n, c']``."""

    def activate(self, x: Tensor) -> Tensor:
        """Return what follows every convolution but the last: ReLU."""
        return x.relu()
