"""MLP: a baseline that ignores the edges."""

from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.reset import reset_children
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.head import Head
from herofilter.nn.registry import arguments, register_model
from herofilter.nn.stem import Stem


class MLP(NodeClassifier):
    """A multilayer perceptron on the features.

    Args:
        in_channels: width of the features.
        hidden_channels: width of the hidden layers.
        out_channels: number of classes.
        num_layers: number of linear layers, at least 2.
        dropout: before every layer but the first.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.

    Shapes:
        - data.x: ``[n, in_channels]``, dense or sparse CSR
        - output: ``[b, out_channels]``
    """

    by_rows = True
    ignores_graph = True

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
        super().__init__()
        # the head begins with dropout, so that the stem needs none
        self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
        self.head = Head(
            hidden_channels, hidden_channels, out_channels, max(num_layers - 1, 1), dropout
        )

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        logits: Tensor = self.head(self.stem(data.x, nodes))
        return logits


@register_model(
    "mlp",
    paper="multilayer perceptron",
    needs="nothing but the features",
    scales=True,
    batches=True,
    by_rows=True,
)
def build_mlp(data: Data, config: Config, spec: GraphSpec) -> MLP:
    """Build an MLP for a graph."""
    return MLP(*arguments(data, config, spec))
