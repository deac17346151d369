"""A model for the user's graph: a search under a time budget, with two baselines beside it."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from torch_geometric.data import Data

from herofilter.callbacks import Callback, Event
from herofilter.config import Config
from herofilter.data import TableGraph, check_graph, num_splits, random_splits
from herofilter.errors import ConfigError, GraphError, RunError, check_choice
from herofilter.measures import FitWarning
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.loop import TrainResult
from herofilter.training.metrics import full_score
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.result_warnings import result_warnings
from herofilter.training.search.session import Search
from herofilter.training.search.space import changed_settings, make_space
from herofilter.training.search.study import memory_study

FRACTIONS = (0.6, 0.2, 0.2)
# of the budget, and trials at most; the last is what the others are compared with
SHARES = {"mlp": (0.15, 8), "gcn": (0.15, 8), "herofilter": (0.7, 40)}
BASELINES = {"mlp": "a perceptron without edges", "gcn": "a GCN"}


@dataclass(frozen=True)
class Candidate:
    """One model with the settings that validation preferred, trained and scored.

    Args:
        predictor: the trained model, calibrated.
        result: how its training went.
        val: measures on the validation nodes, which chose settings and epoch.
        test: measures on the test nodes, which chose nothing.
        trials: how many settings were tried.
        seconds: search and training together.
        changed: settings that aren't those recommended for the graph.
    """

    predictor: Predictor
    result: TrainResult
    val: dict[str, Any]
    test: dict[str, Any]
    trials: int
    seconds: float
    changed: dict[str, Any]

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.predictor.saved.model

    @property
    def title(self) -> str:
        """What the candidate is: HeroFilter only if its settings leave it all of its parts."""
        return model_title(self.model, self.predictor.saved.config)


@dataclass(frozen=True)
class Fitted:
    """The model to keep, the candidates it was chosen from, and sentences about the choice.

    ``warnings`` are those about the tables that were handed over, then those about the scores.
    """

    predictor: Predictor
    candidates: dict[str, Candidate]
    said: tuple[str, ...]
    warnings: tuple[FitWarning, ...] = ()

    @property
    def saved(self) -> SavedModel:
        """What is kept of the model."""
        return self.predictor.saved


def fit_graph(
    graph: TableGraph,
    budget: float = 300.0,
    settings: tuple[str, ...] = (),
    seed: int = 0,
    callback: Callback | None = None,
    trials: int | None = None,
    model: str = "auto",
    warnings: tuple[FitWarning, ...] = (),
) -> Fitted:
    """Search for a model of a graph under a time budget, and compare it with MLP and GCN.

    A perceptron and a GCN are tuned first, each on 15 % of the budget, then HeroFilter on the
    rest; a search ends early when further trials say little. The model with the highest
    validation accuracy is kept, HeroFilter if there are several. Test labels are read once, for
    the measures of the three. Without masks the labelled nodes are split 60 / 20 / 20 within
    each class.

    Args:
        graph: the user's graph, with labels.
        budget: seconds.
        settings: ``key=value`` settings that aren't searched.
        seed: of splits, searches and trainings.
        callback: takes an event of stage ``trial`` after every trial, named after the model.
        trials: settings to try at most for each model; with 1, the recommended ones. As long as
            the time suffices for them, the result doesn't depend on the speed of the machine.
        model: which of the three to keep; ``auto`` is the one that validation prefers.
        warnings: about the tables, to be saved with the model
            (:func:`~herofilter.measures.table_warnings`).
    """
    check_choice("model", model, ("auto", *SHARES))
    if not budget > 0:
        raise ConfigError(f"budget must be above 0 seconds (got {budget:g})")
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1 (got {trials})")
    graph = with_split(graph, seed)
    data = graph.data
    graphs = PreparedGraphs(data, len(graph.classes))
    candidates = {
        name: _CandidateSearch(
            graph, graphs, name, share * budget, min(most, trials or most), seed, settings, callback
        ).run()
        for name, (share, most) in SHARES.items()
    }
    # the first of equals counts, and that is HeroFilter
    kept = max(reversed(candidates.values()), key=lambda entry: entry.val["accuracy"])
    kept = candidates.get(model, kept)
    sizes = {part: int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")}
    title = BASELINES.get(kept.model, kept.title)
    warnings = (*warnings, *result_warnings(kept.predictor, kept.val, kept.test, title))
    metrics = {
        "kept": kept.model,
        "nodes": sizes,
        "models": {name: _metrics(entry) for name, entry in candidates.items()},
        "warnings": [warning.to_dict() for warning in warnings],
    }
    predictor = kept.predictor.with_saved(replace(kept.predictor.saved, metrics=metrics))
    return Fitted(predictor, candidates, _sentences(candidates, kept, sizes["val"]), warnings)


class _CandidateSearch:
    """One model on one graph: a search within its share of the time, then the final training."""

    def __init__(
        self,
        graph: TableGraph,
        graphs: PreparedGraphs,
        model: str,
        budget: float,
        trials: int,
        seed: int,
        settings: tuple[str, ...],
        callback: Callback | None,
    ) -> None:
        self.graph, self.graphs, self.model = graph, graphs, model
        self.budget, self.trials, self.seed = budget, trials, seed
        self.callback = callback
        fixed = [*settings, *_fixed(graph.data, settings)]
        self.space = make_space("wide", model, graph.data, fixed)
        self.started = time.perf_counter()

    def run(self) -> Candidate:
        config, tried = self._choose()
        data = self.graph.data
        config = settle(data, self.model, config)
        trained = fit_split(self.graphs, self.model, config, callback=self._stop_in_time)
        predictor = make_predictor(trained, self.graph, self.graph.encoder)
        val, test = (
            full_score(logits / predictor.temperature, y)
            for logits, y in (trained.logits("val"), trained.logits("test"))
        )
        return Candidate(
            predictor,
            trained.result,
            val,
            test,
            tried,
            time.perf_counter() - self.started,
            changed_settings(config, resolve_defaults(data, Config())),
        )

    def _choose(self) -> tuple[Config, int]:
        """Return the best settings found in time; the default ones when no trial was finished."""
        with memory_study() as study:
            search = Search(
                study,
                self.space,
                [0],
                [self.seed],
                self.seed,
                self.budget,
                self.trials,
                self.callback,
                self.graphs,
            )
            try:
                search.run()
                best = search.best()
            except RunError:
                return self.space.base.replace(seed=self.seed), 0
            tried = len(study.get_trials(deepcopy=False))
        return self.space.config(best["settings"]).replace(seed=self.seed), tried

    def _stop_in_time(self, event: Event) -> None:
        # one epoch is worth waiting for, so that there is a model
        if event.done > 1 and time.perf_counter() - self.started > 2 * self.budget:
            raise KeyboardInterrupt


def with_split(graph: TableGraph, seed: int) -> TableGraph:
    """Return the graph with masks: its own, or a split of the labelled nodes within each class."""
    data = graph.data
    if data.get("y") is None:
        raise GraphError("the graph must have labels to learn from (got none); name their column")
    data = data.clone() if num_splits(data) else _split(data, seed)
    check_graph(data, split_required=True)
    return replace(graph, data=data)


def _split(data: Data, seed: int) -> Data:
    result = data.clone()
    masks = random_splits(data.y, 1, FRACTIONS, seed)
    result.train_mask, result.val_mask, result.test_mask = (mask[:, 0] for mask in masks)
    return result


def _fixed(data: Data, settings: tuple[str, ...]) -> list[str]:
    """Return settings that aren't searched, since they suit only a graph that never changes."""
    values = data.x if not data.x.is_sparse_csr else data.x.values()
    fixed = {"label_tokens": "false", "label_smoothing": "0.0"}
    if bool((values < 0).any()):
        fixed["feature_scaling"] = "auto"
    given = {entry.partition("=")[0].rpartition(".")[2].strip() for entry in settings}
    return [f"{key}={value}" for key, value in fixed.items() if key not in given]


def _metrics(entry: Candidate) -> dict[str, Any]:
    return {
        "title": entry.title,
        "settings": entry.changed,
        "validation": entry.val,
        "test": entry.test,
        "temperature": entry.predictor.temperature,
        "trials": entry.trials,
        "epochs": len(entry.result.history),
        "seconds": round(entry.seconds, 1),
    }


def _settings(entry: Candidate) -> str:
    changed = entry.changed.items()
    return " ".join(f"{key}={value}" for key, value in changed) or "the recommended ones"


def _sentences(candidates: dict[str, Candidate], kept: Candidate, num_val: int) -> tuple[str, ...]:
    shown = {name: 100 * entry.val["accuracy"] for name, entry in candidates.items()}
    others = " and ".join(
        f"{shown[name]:.1f} % for {BASELINES.get(name, entry.title)}"
        for name, entry in candidates.items()
        if name != kept.model
    )
    title = BASELINES.get(kept.model, kept.title)
    said = [
        f"kept {title}: validation accuracy {shown[kept.model]:.1f} %, against {others}",
        f"its settings: {_settings(kept)}",
    ]
    alone = candidates["mlp"].val["accuracy"]
    best = max(candidates[name].val["accuracy"] for name in candidates if name != "mlp")
    noise = math.sqrt(max(alone * (1 - alone), 1e-4) / max(num_val, 1))
    if best - alone <= noise:
        said.append(
            "the edges do not help on this graph: with them the best model has "
            f"{100 * best:.1f} % on validation, without them {100 * alone:.1f} % "
            f"(± {100 * noise:.1f} by chance)"
        )
    else:
        said.append(
            f"the edges help: on validation they are worth {100 * (best - alone):.1f} points"
        )
    return tuple(said)
