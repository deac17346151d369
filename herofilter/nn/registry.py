"""The registry of models: their names, papers, requirements and builders."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError, did_you_mean
from herofilter.nn.classifier import NodeClassifier
from herofilter.nn.graph_defaults import dropout_rates, resolve_defaults
from herofilter.nn.parameters import check_parameters

Builder = Callable[[Data, Config, GraphSpec], NodeClassifier]
Option = str | int | float
AnyBuilder = TypeVar("AnyBuilder", bound=Builder)


@dataclass(frozen=True)
class ModelEntry:
    """One registered model.

    Args:
        name: the name on the command line and in configurations.
        paper: the paper that it comes from.
        needs: its memory beyond the features, in words.
        scales: whether its cost is linear in the size of the graph.
        directed: whether it can read the direction of edges; others get both directions of each.
        builder: makes the model for a prepared graph of some sizes; call :meth:`build`.
        batches: whether the cost of a mini-batch grows with its nodes only; other models compute
            all nodes at every step.
        options: settings that only this model reads, each with the values to search over.
        by_rows: whether it reads only the rows of features that a mini-batch needs, so that
            they may stay on disk.
        gradients: whether it is trained by gradient steps; boosted trees aren't.
    """

    name: str
    paper: str
    needs: str
    scales: bool
    directed: bool
    builder: Builder
    batches: bool = False
    options: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    by_rows: bool = False
    gradients: bool = True

    def build(self, data: Data, config: Config, spec: GraphSpec | None = None) -> NodeClassifier:
        """Return a new model for a prepared graph.

        Without ``spec`` the labels of the graph say how many classes there are.
        """
        spec = GraphSpec.of(data) if spec is None else spec
        check_parameters(config, spec, mixer=self.by_rows and self.gradients)
        return self.builder(data, config, spec)


_MODELS: dict[str, ModelEntry] = {}


def register_model(
    name: str,
    *,
    paper: str,
    needs: str,
    scales: bool,
    directed: bool = False,
    batches: bool = False,
    options: Mapping[str, tuple[Option, ...]] | None = None,
    by_rows: bool = False,
    gradients: bool = True,
) -> Callable[[AnyBuilder], AnyBuilder]:
    """Register the decorated builder under ``name``; the contract tests pick it up."""

    def decorate(build: AnyBuilder) -> AnyBuilder:
        if name in _MODELS:
            raise ConfigError(f"a model name must be new (got {name!r}, which is registered)")
        _MODELS[name] = ModelEntry(
            name,
            paper,
            needs,
            scales,
            directed,
            build,
            batches,
            dict(options or {}),
            by_rows,
            gradients,
        )
        return build

    return decorate


def list_models() -> list[ModelEntry]:
    """Return all registered models in the order of their names."""
    _register_all()
    return [_MODELS[name] for name in sorted(_MODELS)]


def find_model(name: str) -> ModelEntry:
    """Return a registered model by name; of the baselines only that one is imported."""
    if name not in _MODELS:
        _register(name)
    if name not in _MODELS:
        _register_all()
    if name not in _MODELS:
        known = ", ".join(sorted(_MODELS))
        raise ConfigError(
            f"model must be one of {known} (got {name!r}){did_you_mean(name, _MODELS)}"
        )
    return _MODELS[name]


def _register(name: str) -> None:
    """Import the module of one model; that of a baseline has the model's name."""
    # models register when their modules are imported; only here are packages to the right named
    importlib.import_module("herofilter.nn.build")
    module = name.replace("-", "_")
    if name not in _MODELS and module.isidentifier():
        path = f"herofilter.baselines.{module}"
        if importlib.util.find_spec(path) is not None:
            importlib.import_module(path)


def _register_all() -> None:
    importlib.import_module("herofilter.nn.build")
    baselines = importlib.import_module("herofilter.baselines")
    for model in baselines.__all__:
        getattr(baselines, model)


class Arguments(NamedTuple):
    """The first arguments of the constructors of all baselines, in order."""

    in_channels: int
    hidden_channels: int
    out_channels: int
    num_layers: int
    dropout: float
    input_dropout: float
    num_embeddings: int


def arguments(data: Data, config: Config, spec: GraphSpec, least_layers: int = 2) -> Arguments:
    """Return the arguments of a baseline for a graph, with at least ``least_layers`` layers.

    Example:
        >>> from herofilter.data import csbm
        >>> data = csbm(num_nodes=60, num_classes=3)
        >>> arguments(data, Config(), GraphSpec.of(data)).num_layers
        2
    """
    rates = dropout_rates(resolve_defaults(data, config).model)
    return Arguments(
        spec.in_channels,
        config.model.hidden_channels,
        spec.num_classes,
        max(config.model.num_layers, least_layers),
        rates.dropout,
        rates.input_dropout,
        spec.num_embeddings,
    )
