"""A trained model that can be saved, loaded and used on other graphs."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor
from torch_geometric.data import Data

from herofilter.config import Config, from_earlier
from herofilter.data.checks import MASKS
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph
from herofilter.errors import GraphError, HeroFilterError, RunError
from herofilter.files import DamagedFileError, load_tensors, save_tensors, write_json, write_text
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.build import build_herofilter
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.graph_file import GRAPH, read_graph_file, write_graph_file
from herofilter.training.artifacts.sealed_folder import check_target, open_sealed, sealed_folder
from herofilter.training.artifacts.weights import load_weights, weights_of
from herofilter.training.loop import stream_logits
from herofilter.training.prepare import prepare
from herofilter.training.seeding import seeded

__all__ = ["SavedModel", "check_target", "weights_of"]

CONFIG, WEIGHTS, ENCODER = "config.yaml", "weights.safetensors", "encoder.json"
CLASSES, HISTORY, METRICS = "classes.json", "history.json", "metrics.json"
_EMBEDDING = "stem.embedding.weight"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A trained model without its graph, and all that is needed to use it on a graph.

    Args:
        model: a registered model.
        config: its settings.
        in_channels: width of the features.
        classes: what class 0, 1, … is called.
        state: its weights, from :func:`~herofilter.training.artifacts.weights.weights_of`.
        temperature: by which logits are divided before they become probabilities.
        encoder: how a table of nodes becomes features; None when features were given.
        history: one entry per epoch.
        metrics: what was measured, ready for JSON.
        graph: the graph it was trained on, with the labels and masks of training.
        resolved: whether ``config`` was resolved for that graph
            (:func:`~herofilter.nn.build.resolve`) and holds literally for any other.

    Example:
        >>> import tempfile
        >>> from herofilter.data import csbm
        >>> data = prepare(csbm(num_nodes=100, num_classes=3), Config())
        >>> with seeded(0):
        ...     network = find_model("herofilter").build(data, Config())
        >>> saved = SavedModel("herofilter", Config(), 32, ("a", "b", "c"), weights_of(network))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved.save(Path(folder) / "model")
        ...     again = SavedModel.load(Path(folder) / "model")
        >>> torch.equal(again.predict_proba(data), saved.predict_proba(data))
        True
    """

    model: str
    config: Config
    in_channels: int
    classes: tuple[str | int | bool, ...]
    state: dict[str, Tensor]
    temperature: float = 1.0
    encoder: FeatureEncoder | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    graph: TableGraph | None = None
    resolved: bool = False

    def prepare(self, data: Data) -> Data:
        """Check a graph and return it in the form that the model's network reads."""
        self._check_features(data)
        result = copy.copy(data)
        result.num_nodes = int(data.num_nodes or 0)
        for name in MASKS:
            result.pop(name, None)
        # what they are doesn't matter, only that the checks find classes
        result.y = torch.arange(result.num_nodes) % len(self.classes)
        result = prepare(result, self.config, self.model)
        # a model is built for as many classes as the largest label says
        result.y = torch.full_like(result.y, len(self.classes) - 1)
        return result

    def network(self, data: Data, nodes: Tensor | None = None) -> NodeClassifier:
        """Return the network for a graph: weights loaded, patches chosen, ready to predict.

        With ``nodes``, fixed patches are made for those alone, and only those can be predicted.
        Labels that the graph has at its ``train_mask`` are shown to a model with label tokens.
        Hand the network what :meth:`prepare` makes of the graph.
        """
        prepared = self.prepare(data)
        # building initialises weights, which must not change the caller's random state
        with seeded(0):
            if self.resolved:
                network = build_herofilter(prepared, self.config, nodes, literal=True)
            else:
                network = find_model(self.model).build(prepared, self.config)
        network.feature_scaling = self.config.train.feature_scaling
        load_weights(network, self.state)
        y, mask = data.get("y"), data.get("train_mask")
        if y is not None and mask is not None and mask.dim() == 1:
            known = mask & (y < len(self.classes))
            network.show_labels(y.long().masked_fill(~known, -1))
        return network.eval()

    def training_network(self) -> NodeClassifier:
        """Return the network for the graph it was trained on, which the model must have kept."""
        return self.network(self.training_graph().data)

    def training_graph(self) -> TableGraph:
        """Return the graph of training, or say that it wasn't kept."""
        if self.graph is None:
            raise RunError(
                "the model must have been saved with its graph for this (got one without); "
                "fit it anew"
            )
        return self.graph

    def predict_proba(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        """Return calibrated probabilities ``[b, C]`` of ``nodes`` (all when None) of a graph."""
        return self.probabilities(self.network(data, nodes), self.prepare(data), nodes)

    def probabilities(
        self, network: NodeClassifier, prepared: Data, nodes: Tensor | None = None
    ) -> Tensor:
        """Return calibrated probabilities from a network that is already there."""
        if nodes is not None and not nodes.numel():
            return torch.zeros(0, len(self.classes), dtype=torch.float64)
        return torch.cat(list(self.stream(network, prepared, nodes)))

    def stream(
        self, network: NodeClassifier, prepared: Data, nodes: Tensor | None = None
    ) -> Iterator[Tensor]:
        """Yield calibrated probabilities of ``nodes`` in order, some nodes at a time."""
        n = int(prepared.num_nodes or 0)
        if nodes is not None and nodes.numel() and not 0 <= int(nodes.min()) <= nodes.max() < n:
            raise GraphError(
                f"nodes must be between 0 and {n - 1} "
                f"(got {int(nodes.min())} to {int(nodes.max())})"
            )
        for logits in stream_logits(network, prepared, nodes):
            yield torch.softmax(logits.double() / self.temperature, dim=1)

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder, completely or not at all; no file is a pickle.

        A model that is already there is replaced, any other content refused.
        """
        about = {
            "herofilter": environment()["packages"]["herofilter"],  # type: ignore[index]
            "model": self.model,
            "in_channels": self.in_channels,
            "temperature": self.temperature,
            "resolved": self.resolved,
        }
        with sealed_folder(folder, about) as scratch:
            write_text(scratch / CONFIG, yaml.safe_dump(self.config.to_dict(), sort_keys=False))
            save_tensors(scratch / WEIGHTS, self.state)
            write_json(scratch / CLASSES, list(self.classes))
            write_json(scratch / HISTORY, self.history)
            write_json(scratch / METRICS, self.metrics)
            if self.encoder is not None:
                write_json(scratch / ENCODER, self.encoder.to_dict())
            if self.graph is not None:
                write_graph_file(scratch, self.graph)

    @classmethod
    def load(cls, folder: str | Path) -> "SavedModel":
        """Return the model in a folder, once every file is found to be as it was saved."""
        folder = Path(folder)
        seal = open_sealed(folder, (CONFIG, WEIGHTS, CLASSES, HISTORY, METRICS))
        try:
            classes = tuple(_json(folder / CLASSES))
            encoder = None
            if ENCODER in seal["files"]:
                encoder = FeatureEncoder.from_dict(_json(folder / ENCODER))
            graph = None
            if GRAPH in seal["files"]:
                graph = read_graph_file(folder, classes, encoder or FeatureEncoder(()))
            settings = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))
            return cls(
                model=find_model(seal["model"]).name,
                config=Config.from_dict(from_earlier(settings)),
                in_channels=int(seal["in_channels"]),
                classes=classes,
                state=load_tensors(folder / WEIGHTS)[0],
                temperature=float(seal["temperature"]),
                encoder=encoder,
                history=_json(folder / HISTORY),
                metrics=_json(folder / METRICS),
                graph=graph,
                resolved=_is_resolved(seal, settings),
            )
        except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
            reason = str(error) if isinstance(error, HeroFilterError) else type(error).__name__
            raise DamagedFileError(
                f"{folder} must hold a readable model ({reason}); "
                "copy the folder again or train anew"
            ) from error

    def _check_features(self, data: Data) -> None:
        n, has_none = int(data.num_nodes or 0), data.x is None or data.get("featureless", False)
        patch = self.config.patcher.patch_size if self.resolved else 1
        if n < max(2, patch):
            raise GraphError(
                f"the graph must have at least {max(2, patch)} nodes to fill a patch (got {n}); "
                "give more of the graph, or train with a smaller patch_size"
            )
        if _EMBEDDING in self.state:
            known = self.state[_EMBEDDING].size(0)
            if not has_none or n != known:
                raise GraphError(
                    "the graph must be the one the model was trained on, since it learned a vector "
                    f"for each of its {known} nodes, which have no features (got {n} nodes"
                    f"{'' if has_none else ' with features'}); train with features to predict "
                    "other graphs"
                )
        elif has_none:
            raise GraphError(
                f"x must have {self.in_channels} features per node, as in training (got none); "
                "give the same features"
            )
        elif data.x.dim() == 2 and data.x.size(1) != self.in_channels:
            raise GraphError(
                f"x must have {self.in_channels} features per node, as in training "
                f"(got {data.x.size(1)}); give the same features in the same order"
            )


def _is_resolved(seal: dict[str, Any], settings: dict[str, dict[str, Any]]) -> bool:
    # earlier versions had it among the settings
    return bool(seal.get("resolved", settings.get("patcher", {}).get("resolved", False)))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
