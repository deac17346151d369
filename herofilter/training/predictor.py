"""A trained model on a graph, ready to predict: what a fit returns, and a model folder gives."""

import copy
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.data.graph_spec import GraphSpec
from herofilter.devices import CPU, find_device
from herofilter.errors import GraphError
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.build import build_herofilter
from herofilter.parallel.threads import is_small, one_thread
from herofilter.training.artifacts.locate import locate_model
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.weights import load_weights
from herofilter.training.loop import stream_ready
from herofilter.training.prepare import prepare, prepare_for
from herofilter.training.seeding import seeded

_EMBEDDING = "stem.embedding.weight"


class Predictor:
    """A model with its network for one graph.

    The graph is prepared and the network built when they are first needed, and once; after a fit
    they are those of training.

    Args:
        saved: the trained model.
        data: the graph to predict; by default the one the model was trained on.
        nodes: make patches for these nodes alone, which are then all that can be predicted.

    Example:
        >>> from herofilter.config import Config
        >>> from herofilter.data import csbm
        >>> from herofilter.training.fit_model import fit_model, with_validation
        >>> data = with_validation(csbm(num_nodes=100, num_classes=3), 0.2)
        >>> model = fit_model(data, ("a", "b", "c"), "mlp", Config().replace(epochs=5))
        >>> model.predict_proba(torch.tensor([7, 8])).shape, len(model.predict())
        (torch.Size([2, 3]), 100)
        >>> other = csbm(num_nodes=40, num_classes=3, seed=1)
        >>> model.on(other).predict_proba().shape
        torch.Size([40, 3])
    """

    def __init__(
        self, saved: SavedModel, data: Data | None = None, nodes: Tensor | None = None
    ) -> None:
        self.saved, self.nodes = saved, nodes
        self.device = CPU
        self._data = data

    @classmethod
    def of_network(cls, saved: SavedModel, network: NodeClassifier, prepared: Data) -> "Predictor":
        """Return the predictor of a network that was just trained on the model's graph."""
        predictor = cls(saved)
        # where cached properties keep their values
        vars(predictor).update(network=network.eval(), prepared=prepared)
        return predictor

    @classmethod
    def load(cls, folder: str | Path, split: int | None = None) -> "Predictor":
        """Return the model in a model folder, or in a run folder that of one split.

        Args:
            folder: what ``fit``, ``train`` or :meth:`save` wrote.
            split: which split of a run; not needed when it has only one.
        """
        return cls(SavedModel.load(locate_model(folder, split)))

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder, completely or not at all."""
        self.saved.save(folder)

    def on(self, data: Data, nodes: Tensor | None = None) -> "Predictor":
        """Return the same model for another graph, or for some ``nodes`` of it.

        Labels that the graph has at its ``train_mask`` are shown to a model that reads labels;
        others aren't needed and aren't read.
        """
        return self._placed_alike(Predictor(self.saved, data, nodes))

    def to(self, device: str) -> "Predictor":
        """Return the same model, with its predictions computed on a device.

        Args:
            device: ``cpu``, ``cuda``, ``mps``, or ``auto`` for the best that is here. Boosted trees
                and explanations stay on the CPU.
        """
        moved = copy.copy(self)
        moved.device = find_device(device)
        vars(moved).pop("placed", None)
        return moved

    def _placed_alike(self, other: "Predictor") -> "Predictor":
        other.device = self.device
        return other

    def for_nodes(self, nodes: Tensor) -> "Predictor":
        """Return the model for some nodes of its graph, or itself if its network is there.

        Patches are then made for these nodes alone.
        """
        if "network" in vars(self):
            return self
        return self._placed_alike(Predictor(self.saved, self._data, nodes))

    def with_saved(self, saved: SavedModel) -> "Predictor":
        """Return the same network and graph with another record."""
        predictor = copy.copy(self)
        predictor.saved = saved
        return predictor

    @property
    def classes(self) -> tuple[str | int | bool, ...]:
        """What class 0, 1, … is called."""
        return self.saved.classes

    @property
    def temperature(self) -> float:
        """What logits are divided by before they become probabilities."""
        return self.saved.temperature

    @property
    def fewest_nodes(self) -> int:
        """How many nodes another graph must have at least."""
        return max(2, self.saved.config.patcher.patch_size if self.saved.resolved else 1)

    @cached_property
    def data(self) -> Data:
        """The graph, as it was given."""
        return self.saved.training_graph.data if self._data is None else self._data

    @cached_property
    def prepared(self) -> Data:
        """The graph in the form that the network is built for, without labels and masks."""
        if self._data is not None:
            _check_features(self.saved, self._data, self.fewest_nodes)
        result = copy.copy(self.data)
        result.num_nodes = int(self.data.num_nodes or 0)
        for name in ("y", *MASKS):
            result.pop(name, None)
        return prepare(result, self.saved.config, self.saved.model, labels_required=False)

    @cached_property
    def network(self) -> NodeClassifier:
        """The network for the graph: weights loaded, patches chosen, ready to predict."""
        return self._build()

    @cached_property
    def placed(self) -> tuple[NodeClassifier, Data]:
        """The network and the graph that predictions are computed from, on the device."""
        if self.device == CPU:
            return self.network, self.ready
        # another network: explanations read the one in main memory
        network = self._build()
        network.to(CPU if network.boosted else self.device)
        return network, prepare_for(network, self.prepared)

    def _build(self) -> NodeClassifier:
        saved, prepared = self.saved, self.prepared
        spec = GraphSpec.of(prepared, len(saved.classes))
        # building initialises weights, which must not change the caller's random state
        with seeded(0):
            if saved.resolved:
                network = build_herofilter(prepared, saved.config, spec, self.nodes, literal=True)
            else:
                network = find_model(saved.model).build(prepared, saved.config, spec)
        network.feature_scaling = saved.config.train.feature_scaling
        load_weights(network, saved.state, same_graph=self._data is None)
        network.load_extra(saved.extra)
        known = known_labels(self.data, len(saved.classes))
        if known is not None:
            network.show_labels(known)
        return network.eval()

    @cached_property
    def ready(self) -> Data:
        """The graph with features scaled as the network was trained on them."""
        with one_thread(is_small(int(self.prepared.num_nodes or 0))):
            return prepare_for(self.network, self.prepared)

    def predict(self, nodes: Tensor | None = None) -> list[str | int | bool]:
        """Return the class of each of ``nodes`` (all when None)."""
        return [self.classes[best] for best in self.predict_proba(nodes).argmax(1).tolist()]

    def predict_proba(self, nodes: Tensor | None = None) -> Tensor:
        """Return calibrated probabilities ``[b, C]`` of ``nodes`` (all when None)."""
        parts = list(self.stream(nodes))
        return torch.cat(parts) if parts else torch.zeros(0, len(self.classes)).double()

    def stream(self, nodes: Tensor | None = None) -> Iterator[Tensor]:
        """Yield calibrated probabilities of ``nodes`` in order, some nodes at a time."""
        for logits in self.stream_logits(nodes):
            yield torch.softmax(logits.double() / self.temperature, dim=1)

    def predict_logits(self, nodes: Tensor | None = None) -> Tensor:
        """Return the network's logits ``[b, C]`` of ``nodes`` (all when None)."""
        parts = list(self.stream_logits(nodes))
        return torch.cat(parts) if parts else torch.zeros(0, len(self.classes))

    def stream_logits(self, nodes: Tensor | None = None) -> Iterator[Tensor]:
        """Yield logits of ``nodes`` in order, some nodes at a time."""
        nodes = self.nodes if nodes is None else nodes
        n = int(self.data.num_nodes or 0)
        if nodes is not None and not nodes.numel():
            return
        if nodes is not None and not 0 <= int(nodes.min()) <= int(nodes.max()) < n:
            raise GraphError(
                f"nodes must be between 0 and {n - 1} "
                f"(got {int(nodes.min())} to {int(nodes.max())})"
            )
        yield from stream_ready(*self.placed, nodes)


def known_labels(data: Data, num_classes: int) -> Tensor | None:
    """Return the labels that a model may read, -1 for all nodes but training nodes."""
    y, mask = data.get("y"), data.get("train_mask")
    if y is None or mask is None or mask.dim() != 1:
        return None
    known: Tensor = y.long().masked_fill(~(mask & (y < num_classes)), -1)
    return known


def _check_features(saved: SavedModel, data: Data, fewest: int) -> None:
    n, has_none = int(data.num_nodes or 0), data.x is None or data.get("featureless", False)
    if n < fewest:
        raise GraphError(
            f"the graph must have at least {fewest} nodes to fill a patch (got {n}); "
            "give more of the graph, or train with a smaller patch_size"
        )
    if _EMBEDDING in saved.state:
        known = saved.state[_EMBEDDING].size(0)
        if not has_none or n != known:
            raise GraphError(
                "the graph must be the one the model was trained on, since it learned a vector "
                f"for each of its {known} nodes, which have no features (got {n} nodes"
                f"{'' if has_none else ' with features'}); train with features to predict "
                "other graphs"
            )
    elif has_none:
        raise GraphError(
            f"x must have {saved.in_channels} features per node, as in training (got none); "
            "give the same features"
        )
    elif data.x.dim() == 2 and data.x.size(1) != saved.in_channels:
        raise GraphError(
            f"x must have {saved.in_channels} features per node, as in training "
            f"(got {data.x.size(1)}); give the same features in the same order"
        )
