"""The base of models whose first layers take the raw features, sparse or dense."""

from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.reset import reset_children
from herofilter.nn.classifier import NodeClassifier, select
from herofilter.nn.dropout import Dropout
from herofilter.nn.stem import Stem


class FeatureModel(NodeClassifier):
    """A model that reads the features after dropout.

    On a graph without features, hidden vectors that are learned for each node take their place.

    Args:
        in_channels: width of the features.
        hidden_channels: width of learned vectors.
        dropout: of :attr:`dropout`, for the hidden layers of the subclass.
        input_dropout: on the features.
        num_embeddings: learned vectors for nodes without features; 0 for none.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        dropout: float,
        input_dropout: float,
        num_embeddings: int,
    ) -> None:
        super().__init__()
        self.stem = None
        if num_embeddings:
            self.stem = Stem(in_channels, hidden_channels, input_dropout, 0.0, num_embeddings)
        # the width of what the first layer gets
        self.in_channels = hidden_channels if num_embeddings else in_channels
        self.input_dropout = Dropout(input_dropout)
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def features(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        """Return the input of the first layer: ``[b, in_channels]``, sparse if the features are."""
        x = select(data.x, nodes) if self.stem is None else self.stem(data.x, nodes)
        out: Tensor = self.input_dropout(x)
        return out
