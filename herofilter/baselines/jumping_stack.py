"""The base of graph convolutions whose classifier reads all layers: GCN-JKNet and Dir-GNN."""

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import JumpingKnowledge

from herofilter.baselines.conv_stack import ConvStack
from herofilter.errors import check_choice
from herofilter.nn.classifier import select

MODES = ("max", "cat")


class JumpingStack(ConvStack):
    r"""Graph convolutions with jumping knowledge (Xu et al., ICML 2018).

    .. math::
        \mathbf{H}^{(l+1)} = \mathrm{drop}(\sigma(\mathrm{Conv}^{(l)}(\mathbf{H}^{(l)}))), \qquad
        \mathbf{Z} = \mathrm{JK}(\mathbf{H}^{(1)}, \dots, \mathbf{H}^{(L)}) \mathbf{W}

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of convolutions, at least 1.
        dropout: before every convolution but the first, and before the classifier.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
        mode: how the classifier sees the convolutions: ``max`` takes the largest entry of each
            channel, ``cat`` puts them side by side.

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
        mode: str = "max",
    ) -> None:
        check_choice("mode", mode, MODES)
        super().__init__(
            in_channels,
            hidden_channels,
            hidden_channels,
            num_layers,
            dropout,
            input_dropout,
            num_embeddings,
        )
        self.jump = JumpingKnowledge(mode)
        jumped = hidden_channels * (num_layers if mode == "cat" else 1)
        self.classifier = nn.Linear(jumped, out_channels)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        x = self.features(data)
        outputs: list[Tensor] = []
        for conv in self.convs:
            x = self.dropout(self.activate(self.convolve(conv, data, x)))
            outputs.append(select(x, nodes))
        logits: Tensor = self.classifier(self.jump(outputs))
        return logits
