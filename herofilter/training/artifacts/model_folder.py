"""What is kept of a trained model: a record that can be saved and loaded."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from torch import Tensor

from herofilter.config import Config, from_earlier
from herofilter.data.npz_file import UNREADABLE
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_graph import TableGraph
from herofilter.errors import HeroFilterError, MissingExtraError, OutOfMemoryError, RunError
from herofilter.files import (
    DamagedFileError,
    load_tensors,
    read_json,
    read_yaml,
    save_tensors,
    write_json,
    write_text,
)
from herofilter.nn import find_model
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.graph_file import GRAPH, read_graph_file, write_graph_file
from herofilter.training.artifacts.graph_reference import REFERENCE, GraphReference
from herofilter.training.artifacts.sealed_folder import (
    check_target,
    open_sealed,
    read_seal,
    sealed_folder,
)
from herofilter.training.artifacts.weights import weights_of

__all__ = ["SavedModel", "check_target", "weights_of"]

CONFIG, WEIGHTS, ENCODER = "config.yaml", "weights.safetensors", "encoder.json"
CLASSES, HISTORY, METRICS = "classes.json", "history.json", "metrics.json"
# of a model's own files, so that none can take the place of one of these
EXTRA = "extra-"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """All that a model folder holds: what a :class:`Predictor` needs, and how it came about.

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
        reference: where that graph is, if ``graph`` is None.
        extra: what the model has beside tensors, from
            :meth:`~herofilter.nn.classifier.NodeClassifier.extra_files`.

    Example:
        >>> import tempfile
        >>> from herofilter.data import csbm
        >>> network = find_model("mlp").build(csbm(num_nodes=100, num_classes=3), Config())
        >>> saved = SavedModel("mlp", Config(), 32, ("a", "b", "c"), weights_of(network))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved.save(Path(folder) / "model")
        ...     SavedModel.load(Path(folder) / "model").classes
        ('a', 'b', 'c')
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
    reference: GraphReference | None = None
    extra: dict[str, bytes] = field(default_factory=dict)

    @cached_property
    def training_graph(self) -> TableGraph:
        """The graph of training, read when it is first asked for if it isn't in the folder."""
        if self.graph is not None:
            return self.graph
        if self.reference is not None:
            return self.reference.load(self.classes)
        raise RunError(
            "the model must have been saved with its graph for this (got one without); fit it anew"
        )

    def save(self, folder: str | Path, weights: str = WEIGHTS) -> None:
        """Write the model into a folder, completely or not at all; no file is a pickle.

        A model that is already there is replaced, any other content refused. ``weights`` is what
        the file of the weights is called.
        """
        about = {
            "herofilter": environment()["packages"]["herofilter"],  # type: ignore[index]
            "model": self.model,
            "in_channels": self.in_channels,
            "temperature": self.temperature,
            "resolved": self.resolved,
            **({} if weights == WEIGHTS else {"weights": weights}),
        }
        with sealed_folder(folder, about) as scratch:
            write_text(scratch / CONFIG, yaml.safe_dump(self.config.to_dict(), sort_keys=False))
            save_tensors(scratch / weights, self.state)
            write_json(scratch / CLASSES, list(self.classes))
            write_json(scratch / HISTORY, self.history)
            write_json(scratch / METRICS, self.metrics)
            if self.encoder is not None:
                write_json(scratch / ENCODER, self.encoder.to_dict())
            if self.graph is not None:
                write_graph_file(scratch, self.graph)
            elif self.reference is not None:
                self.reference.write(scratch)
            for name, content in self.extra.items():
                (scratch / f"{EXTRA}{name}").write_bytes(content)

    @classmethod
    def load(cls, folder: str | Path) -> "SavedModel":
        """Return the model in a folder, once every file is found to be as it was saved."""
        folder = Path(folder)
        weights = str(read_seal(folder).get("weights", WEIGHTS))
        seal = open_sealed(folder, (CONFIG, weights, CLASSES, HISTORY, METRICS))
        try:
            classes = tuple(read_json(folder / CLASSES))
            encoder = None
            if ENCODER in seal["files"]:
                encoder = FeatureEncoder.from_dict(read_json(folder / ENCODER))
            graph = None
            if GRAPH in seal["files"]:
                graph = read_graph_file(folder, classes, encoder or FeatureEncoder(()))
            reference = GraphReference.read(folder) if REFERENCE in seal["files"] else None
            extra = [name for name in seal["files"] if name.startswith(EXTRA)]
            settings = read_yaml(folder / CONFIG)
            return cls(
                model=find_model(seal["model"]).name,
                config=Config.from_dict(from_earlier(settings)),
                in_channels=int(seal["in_channels"]),
                classes=classes,
                state=load_tensors(folder / weights)[0],
                temperature=_temperature(seal["temperature"]),
                encoder=encoder,
                history=read_json(folder / HISTORY),
                metrics=read_json(folder / METRICS),
                graph=graph,
                resolved=_is_resolved(seal, settings),
                reference=reference,
                extra={name.removeprefix(EXTRA): (folder / name).read_bytes() for name in extra},
            )
        except (OutOfMemoryError, MissingExtraError):
            raise
        except (*UNREADABLE, AttributeError, pa.ArrowException) as error:
            reason = str(error) if isinstance(error, HeroFilterError) else type(error).__name__
            raise DamagedFileError(
                f"{folder} must hold a readable model ({reason}); "
                "copy the folder again or train anew"
            ) from error


def _temperature(value: Any) -> float:
    temperature = float(value)
    if not 0 < temperature < math.inf:
        raise ValueError(f"the temperature must be above 0 and finite (got {temperature:g})")
    return temperature


def _is_resolved(seal: dict[str, Any], settings: dict[str, dict[str, Any]]) -> bool:
    # earlier versions had it among the settings
    return bool(seal.get("resolved", settings.get("patcher", {}).get("resolved", False)))
