"""The one way from a graph and settings to a model: resolve, prepare, build, train, calibrate."""

import copy
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import DiskFeatures, TableGraph, select_split
from herofilter.data.graph_spec import GraphSpec, count_classes
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training.artifacts.checkpoint import Checkpoint
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.weights import weights_of
from herofilter.training.calibration import fit_temperature
from herofilter.training.loop import TrainResult, predict_logits, train
from herofilter.training.predictor import Predictor
from herofilter.training.prepare import prepare, prepared_form
from herofilter.training.search.space import PATCHED
from herofilter.training.seeding import seeded
from herofilter.training.team import Team

# forms of one graph that are held at a time; each may have a copy of the features
_FORMS = 2


class PreparedGraphs:
    """A graph in the forms that models read, each prepared once.

    Args:
        data: the graph, as it was read.
        num_classes: how many classes there are; by default what its labels say.

    Example:
        >>> from herofilter.data import csbm
        >>> graphs = PreparedGraphs(csbm(num_nodes=60))
        >>> graphs.form("mlp", Config()) is graphs.form("gcn", Config())
        True
    """

    def __init__(self, data: Data, num_classes: int | None = None) -> None:
        self.data = data
        self.num_classes = count_classes(data) if num_classes is None else num_classes
        self._forms: dict[tuple[bool, str, bool], Data] = {}

    def form(self, model: str, config: Config) -> Data:
        """Return the graph as :func:`~herofilter.training.prepare.prepare` makes it."""
        keeps, scaling, by_rows = prepared_form(config, model)
        key = (keeps, scaling, by_rows and isinstance(self.data.x, DiskFeatures))
        if key not in self._forms:
            if len(self._forms) >= _FORMS:
                # the one that was asked for longest ago
                del self._forms[next(iter(self._forms))]
            self._forms[key] = prepare(self.data, config, model)
        else:
            self._forms[key] = self._forms.pop(key)
        return self._forms[key]


@dataclass(frozen=True, eq=False)
class Trained:
    """A network that was trained on one split, and what it was made from.

    Args:
        model: a registered model.
        config: its settings, resolved for the graph.
        spec: the sizes it was built for.
        network: the trained network, in its best state.
        prepared: the graph that it was trained on, with its masks of one or more splits.
        split: which of them.
        result: how the training went.
    """

    model: str
    config: Config
    spec: GraphSpec
    network: NodeClassifier
    prepared: Data
    split: int
    result: TrainResult

    def logits(self, part: str) -> tuple[Tensor, Tensor]:
        """Return logits and labels of the nodes of ``train``, ``val`` or ``test``."""
        nodes = select_split(self.prepared, self.split)[f"{part}_mask"].nonzero().view(-1)
        return predict_logits(self.network, self.prepared, nodes), self.prepared.y[nodes]


def settle(data: Data, model: str, config: Config) -> Config:
    """Return settings that build a model of the same shape for any graph.

    All that depends on the graph ``data``, as it was read, gets its value for it.
    """
    if model == "fast-herofilter":
        config = config.replace(patcher="fast")
    return resolve(data, config) if model in PATCHED else resolve_defaults(data, config)


def fit_split(
    graphs: PreparedGraphs,
    model: str,
    config: Config,
    split: int = 0,
    callback: Callback | None = None,
    deadline: float | None = None,
) -> Trained:
    """Build a model for a graph and train it on one split, for a choice among several.

    Test labels can't have a say: they are hidden from the training. ``deadline`` is that of
    :func:`~herofilter.training.loop.train`.
    """
    prepared = graphs.form(model, config)
    spec = GraphSpec.of(prepared, graphs.num_classes)
    return fit_prepared(prepared, spec, model, config, split, callback, deadline=deadline)


def fit_prepared(
    prepared: Data,
    spec: GraphSpec,
    model: str,
    config: Config,
    split: int = 0,
    callback: Callback | None = None,
    score_test: bool = False,
    checkpoint: Checkpoint | None = None,
    deadline: float | None = None,
    team: Team | None = None,
) -> Trained:
    """Build a model for a prepared graph and train it on one split, alone or in a team.

    Only with ``score_test`` are test labels there to be read.
    """
    shown = prepared if score_test else without_test_labels(prepared, split)
    network, result = train_split(
        shown,
        model,
        config,
        split,
        callback,
        score_test=score_test,
        checkpoint=checkpoint,
        spec=spec,
        deadline=deadline,
        team=team,
    )
    return Trained(model, config, spec, network, prepared, split, result)


def train_split(
    prepared: Data,
    model: str,
    config: Config,
    split: int,
    callback: Callback | None = None,
    score_test: bool = True,
    checkpoint: Checkpoint | None = None,
    spec: GraphSpec | None = None,
    deadline: float | None = None,
    team: Team | None = None,
) -> tuple[NodeClassifier, TrainResult]:
    """Build a registered model for a prepared graph, train it on one split, return both."""
    config = resolve_defaults(prepared, config)
    with seeded(config.train.seed):
        network = find_model(model).build(prepared, config, spec)
    data = select_split(prepared, split)
    result = train(network, data, config.train, callback, score_test, checkpoint, deadline, team)
    return network, result


def without_test_labels(prepared: Data, split: int) -> Data:
    """Return a copy without a test part, in which the labels of its nodes can't be read."""
    hidden = copy.copy(prepared)
    test = select_split(prepared, split).get("test_mask")
    if test is not None:
        hidden.y = prepared.y.masked_fill(test, -1)
        del hidden.test_mask
    return hidden


def make_predictor(
    trained: Trained,
    graph: TableGraph,
    encoder: FeatureEncoder | None = None,
    calibrate: bool = True,
) -> Predictor:
    """Return the model that a training gave, calibrated, with the patches of its best epoch.

    Args:
        trained: the training.
        graph: the graph as it was read, with the masks of the split.
        encoder: how a table of nodes becomes features, if the graph comes from tables.
        calibrate: whether to fit a temperature on validation nodes; else it is 1.
    """
    # as a model that is loaded from its file will choose them
    trained.network.restore()
    temperature = fit_temperature(*trained.logits("val")) if calibrate else 1.0
    saved = _record(trained, graph.classes, weights_of(trained.network), temperature)
    saved = replace(saved, graph=graph, encoder=encoder)
    return Predictor.of_network(saved, trained.network, trained.prepared)


def saved_split(trained: Trained, metrics: dict[str, Any]) -> SavedModel:
    """Return what is kept of a split of a run, with the patches its test score was measured with.

    Classes are called by their numbers.
    """
    temperature = fit_temperature(*trained.logits("val"))
    weights = weights_of(trained.network, with_patches=True)
    saved = _record(trained, tuple(range(trained.spec.num_classes)), weights, temperature)
    config = settle(trained.prepared, trained.model, trained.config)
    return replace(saved, config=config, metrics=metrics)


def _record(
    trained: Trained,
    classes: tuple[str | int | bool, ...],
    weights: dict[str, Tensor],
    temperature: float,
) -> SavedModel:
    return SavedModel(
        model=trained.model,
        config=trained.config,
        in_channels=trained.spec.in_channels,
        classes=tuple(classes),
        state=weights,
        temperature=temperature,
        history=[epoch.to_dict() for epoch in trained.result.history],
        resolved=trained.model in PATCHED,
        extra=trained.network.extra_files(),
    )
