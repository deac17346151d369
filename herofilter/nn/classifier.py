"""The contract that every model keeps."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.data import DiskFeatures

LARGEST_BATCH = 65536


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of a graph; a model adds what it has read for them ahead of time."""

    data: Data
    nodes: Tensor | None


class NodeClassifier(nn.Module, ABC):
    """A model that gives raw logits for the nodes of a graph.

    The trainer asks nothing more of a model than these methods; a model without a
    learned filter or patches overrides only the first two. ``feature_scaling`` is how the
    features that it was trained on were scaled; ``whole_graph`` says that a step costs all nodes,
    however few of them are asked for, so that the trainer asks for all at once; ``by_rows`` that
    it reads features through :func:`select` alone, so that they may stay on disk; ``in_parallel``
    that it predicts in parts, of which several can be at work at once with a thread each.
    """

    feature_scaling: str = "none"
    whole_graph: bool = False
    by_rows: bool = False
    in_parallel: bool = False

    @abstractmethod
    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        """Return logits ``[b, C]`` of ``nodes`` (all nodes when None)."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draw all parameters anew."""

    @property
    def prefetches(self) -> bool:
        """Whether :meth:`gather` may run in another thread while an earlier batch is trained."""
        return False

    def gather(self, data: Data, nodes: Tensor | None) -> Batch:
        """Read what :meth:`classify` needs for ``nodes``: nothing by default.

        Where ``prefetches`` is true it must neither draw random numbers nor look at weights.
        """
        return Batch(data, nodes)

    def classify(self, batch: Batch) -> Tensor:
        """Return logits ``[b, C]`` of what :meth:`gather` gave."""
        logits: Tensor = self(batch.data, batch.nodes)
        return logits

    def precompute(self, data: Data, count: int) -> Data:
        """Return the graph with what several batches, ``count`` nodes in all, have in common.

        The trainer asks before batches that need no gradients; by default they share nothing.
        """
        return data

    def largest_batch(self, data: Data) -> int:
        """Return how many nodes fit into memory at once without gradients."""
        return LARGEST_BATCH

    def filter_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that have the filter's own learning rate."""
        return []

    def refresh(self) -> None:
        """Choose patches anew with the filter as it is now."""

    def show_labels(self, labels: Tensor) -> None:
        """Take in the labels that the model may read: -1 wherever a node isn't a training node."""

    def auxiliary_loss(self) -> Tensor | None:
        """Return what the last forward pass adds to the loss of its logits; None for nothing.

        The trainer asks once after every forward pass of training.
        """
        return None

    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return learned vectors of nodes: decay would shrink those that no batch has touched."""
        layers = (layer for layer in self.modules() if isinstance(layer, nn.Embedding))
        return [parameter for layer in layers for parameter in layer.parameters()]

    def other_parameters(self) -> list[nn.Parameter]:
        """Return all parameters but the filter's and the embeddings."""
        own = {id(entry) for entry in (*self.filter_parameters(), *self.embedding_parameters())}
        return [parameter for parameter in self.parameters() if id(parameter) not in own]


def select(values: Tensor, nodes: Tensor | None) -> Tensor:
    """Return the rows ``nodes`` of ``values``, a dense or a sparse matrix, perhaps on disk."""
    if isinstance(values, DiskFeatures):
        return values.rows(torch.arange(values.size(0)) if nodes is None else nodes)
    if nodes is None:
        return values
    if values.layout == torch.sparse_csr:
        return _select_csr(values, nodes)
    return values.index_select(0, nodes)


def _select_csr(values: Tensor, nodes: Tensor) -> Tensor:
    start = values.crow_indices()
    length = (start[1:] - start[:-1])[nodes]
    crow = torch.cat([length.new_zeros(1), length.cumsum(0)])
    # position of every kept entry: its row's start plus its place within the row
    place = torch.arange(int(crow[-1])) - crow[:-1].repeat_interleave(length)
    entry = start[nodes].repeat_interleave(length) + place
    return torch.sparse_csr_tensor(
        crow,
        values.col_indices()[entry],
        values.values()[entry],
        size=(nodes.numel(), values.size(1)),
        check_invariants=False,
    )
