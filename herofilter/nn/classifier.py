"""The base class of all models."""

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.data import DiskFeatures
from herofilter.data.placement import move
from herofilter.devices import CPU
from herofilter.errors import GraphError
from herofilter.nn.feature_scaler import FeatureScaler
from herofilter.spectral.compressed_rows import taken_entries

LARGEST_BATCH = 65536


@dataclass(frozen=True, eq=False)
class Batch:
    """Some nodes of a graph; models add the data that they prefetch for them."""

    data: Data
    nodes: Tensor | None


class NodeClassifier(nn.Module, ABC):
    """A model that returns raw logits for the nodes of a graph.

    The trainer calls no other methods of a model than these; a model without a learned filter or
    patches overrides only the first two.

    Attributes:
        feature_scaling: how the features that it was trained on were scaled.
        scaler: what standardises features, if they were standardised in training. It is part of
            the state, and applied to every graph that the model is called with.
        full_batch: whether a forward pass computes all nodes, however few are asked for, so that
            the trainer asks for all at once.
        by_rows: whether it reads features only through :func:`select`, so that they may stay on
            disk.
        in_parallel: whether it predicts in parts that several threads can compute at once.
        boosted: whether it is trained by growing trees, not by gradient steps.
        ignores_graph: whether a node's logits depend on its own features alone.
        reach: how many edges away the nodes are at most whose features a node's logits depend on,
            if nothing but the degrees of these nodes matters besides and no layer knows the graph;
            None where that isn't so.
    """

    feature_scaling: str = "none"
    full_batch: bool = False
    by_rows: bool = False
    in_parallel: bool = False
    boosted: bool = False
    ignores_graph: bool = False

    scaler: FeatureScaler | None

    @property
    def reach(self) -> int | None:
        return None

    @property
    def device(self) -> torch.device:
        """Where its weights are, and a graph must be that it is called with."""
        tensors = itertools.chain(self.parameters(), self.buffers())
        return next((tensor.device for tensor in tensors), CPU)

    def __init__(self) -> None:
        super().__init__()
        self.scaler = None

    def __call__(self, data: Data, nodes: Tensor | None = None) -> Any:
        return super().__call__(self.scale_features(data), nodes)

    @abstractmethod
    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        """Return logits ``[b, C]`` of ``nodes`` (all nodes when None)."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Initialise all parameters again at random."""

    def scale_features(self, data: Data) -> Data:
        """Return the graph with features as the model was trained on; itself if they are already.

        The result names the scaler that made it, so that no features are standardised twice.
        """
        by = data.get("scaled_by")
        # a part of a larger model has no scaler of its own
        if self.scaler is None or data.get("featureless", False):
            return data
        if by is not None and not self.scaler.equals(by):
            raise GraphError(
                "the features must be as they were read (got some that were standardised for "
                "another model); give the graph as it was before"
            )
        if by is not None:
            return data
        scaled = copy.copy(data)
        scaled.x, scaled.scaled_by = self.scaler(data.x), self.scaler
        return scaled

    def expect_scaler(self, state: Mapping[str, Any]) -> None:
        """Make room for the scaler that a state has, or drop the model's own if it has none."""
        mean = state.get("scaler.mean")
        if mean is None or self.scaler is None:
            self.scaler = None if mean is None else FeatureScaler(mean, mean)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        self.expect_scaler(state_dict)
        return super().load_state_dict(state_dict, strict, assign)

    @property
    def prefetches(self) -> bool:
        """Whether :meth:`gather` may run in another thread while an earlier batch is trained."""
        return False

    def gather(self, data: Data, nodes: Tensor | None) -> Batch:
        """Return ``nodes`` with the data that :meth:`classify` needs for them; none by default.

        Where ``prefetches`` is true it must use neither random numbers nor weights.
        """
        return Batch(data, nodes)

    def classify(self, batch: Batch) -> Tensor:
        """Return logits ``[b, C]`` of a batch that :meth:`gather` returned."""
        logits: Tensor = self(batch.data, batch.nodes)
        return logits

    def precompute(self, data: Data, count: int) -> Data:
        """Return the graph with values that several batches share, precomputed.

        The trainer calls it before it predicts ``count`` nodes in batches, without gradients. By
        default nothing is precomputed.
        """
        return data

    def largest_batch(self, data: Data) -> int:
        """Return how many nodes fit into memory at once without gradients."""
        return LARGEST_BATCH

    def filter_parameters(self) -> list[nn.Parameter]:
        """Return the weights of learned filters, which are trained without weight decay."""
        return []

    def refresh(self) -> None:
        """Choose the patches again, with the current filter."""

    @property
    def refresh_seconds(self) -> float:
        """How long the last choice of patches took; 0 for a model that chooses none."""
        return 0.0

    def filter_snapshot(self) -> dict[str, list[float]]:
        """Return the response of each learned filter at a few eigenvalues; none for most models."""
        return {}

    def restore(self) -> None:
        """Choose the patches again as they were, after weights were loaded."""
        self.refresh()

    def start_filter(self, labels: Tensor) -> None:
        """Start the filter from the labels of training nodes, -1 elsewhere."""

    def show_labels(self, labels: Tensor) -> None:
        """Store the labels that the model may read: -1 for all nodes but training nodes."""

    def extra_files(self) -> dict[str, bytes]:
        """Return what belongs to the model beside its tensors, by file name; never a pickle."""
        return {}

    def load_extra(self, files: Mapping[str, bytes]) -> None:
        """Take back what :meth:`extra_files` returned, after the tensors were loaded."""

    def auxiliary_loss(self) -> Tensor | None:
        """Return a term that the last forward pass adds to the loss, or None.

        The trainer calls it once after every forward pass of training.
        """
        return None

    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the learned vectors of nodes, which are trained without weight decay."""
        layers = (layer for layer in self.modules() if isinstance(layer, nn.Embedding))
        return [parameter for layer in layers for parameter in layer.parameters()]

    def other_parameters(self) -> list[nn.Parameter]:
        """Return all parameters but the filter's and the embeddings."""
        listed = {id(entry) for entry in (*self.filter_parameters(), *self.embedding_parameters())}
        return [parameter for parameter in self.parameters() if id(parameter) not in listed]


def select(values: Tensor, nodes: Tensor | None) -> Tensor:
    """Return the rows ``nodes`` of ``values``, a dense or a sparse matrix, perhaps on disk.

    They are where ``nodes`` are, which must be where ``values`` are unless these are on disk.
    """
    if isinstance(values, DiskFeatures):
        if nodes is None:
            return values.rows(torch.arange(values.size(0)))
        return move(values.rows(nodes.cpu()), nodes.device)
    if nodes is None:
        return values
    if values.layout == torch.sparse_csr:
        return _select_csr(values, nodes)
    return values.index_select(0, nodes)


def _select_csr(values: Tensor, nodes: Tensor) -> Tensor:
    crow, entry = taken_entries(values.crow_indices(), nodes)
    return torch.sparse_csr_tensor(
        crow,
        values.col_indices()[entry],
        values.values()[entry],
        size=(nodes.numel(), values.size(1)),
        check_invariants=False,
    )
