"""The most frequent class of the training nodes: what every model has to beat."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.registry import register_model


class Majority(NodeClassifier):
    """Predict for every node the class shares of the training nodes; no weights, no features.

    Args:
        out_channels: number of classes.

    Shapes:
        - output: ``[b, out_channels]``, the same row for all nodes
    """

    ignores_graph = True
    log_shares: Tensor

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.register_buffer("log_shares", torch.zeros(out_channels))

    def reset_parameters(self) -> None:
        self.log_shares.zero_()

    def start_filter(self, labels: Tensor) -> None:
        count = torch.bincount(labels[labels >= 0], minlength=self.log_shares.numel())
        # a class without training nodes keeps a small share, so that its loss is finite
        self.log_shares.copy_(((count + 0.5) / (count + 0.5).sum()).log())

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        count = int(data.num_nodes or 0) if nodes is None else nodes.numel()
        return self.log_shares.expand(count, -1)


@register_model(
    "majority",
    paper="the most frequent class",
    needs="nothing",
    scales=True,
    batches=True,
    gradients=False,
)
def build_majority(data: Data, config: Config, spec: GraphSpec) -> Majority:
    """Build the most frequent class for a graph."""
    return Majority(spec.num_classes)
