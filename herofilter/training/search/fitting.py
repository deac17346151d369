"""A model for the user's graph: contenders compared within a time, the best one kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.data import TableGraph, check_graph, num_splits, random_splits
from herofilter.errors import ConfigError, GraphError, RunError
from herofilter.measures import FitWarning
from herofilter.training.artifacts.fingerprint import fingerprint
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.metrics import full_score
from herofilter.training.predictor import Predictor
from herofilter.training.search.choices import METRICS, check_contender, check_metric
from herofilter.training.search.clock import Clock
from herofilter.training.search.contenders import INSTALL_BOOSTERS, available
from herofilter.training.search.contest import Candidate, Contest, prefer
from herofilter.training.search.contest_store import ContestStore
from herofilter.training.search.result_warnings import result_warnings
from herofilter.training.search.verdict import (
    Comparison,
    edges_sentence,
    first_within_error,
    paired_errors,
    paired_hits,
)

FRACTIONS = (0.6, 0.2, 0.2)
# trainings of one contender at most: more would choose the luckiest
MOST_TRIALS, FEWEST_TRIALS, NODES_PER_TRIAL = 40, 3, 25


@dataclass(frozen=True)
class Fitted:
    """The model to keep, the candidates it was chosen from, and sentences about the choice.

    ``unfinished`` has the titles of contenders without a training that ended by itself;
    ``warnings`` are those about the tables that were handed over, then those about the scores.
    """

    predictor: Predictor
    candidates: dict[str, Candidate]
    unfinished: tuple[str, ...]
    said: tuple[str, ...]
    warnings: tuple[FitWarning, ...] = ()

    @property
    def saved(self) -> SavedModel:
        """What is kept of the model."""
        return self.predictor.saved


def fit_graph(
    graph: TableGraph,
    budget: float | Clock = 300.0,
    settings: tuple[str, ...] = (),
    seed: int = 0,
    callback: Callback | None = None,
    trials: int | None = None,
    model: str = "auto",
    metric: str = "accuracy",
    out: str | Path | None = None,
    warnings: tuple[FitWarning, ...] = (),
) -> Fitted:
    """Compare several models of a graph within a time, and keep the one that validation prefers.

    The contenders are the most frequent class, a gradient booster on the node's own columns, a
    perceptron, a gradient booster that also reads neighbours' columns and known labels, a GCN, and
    HeroFilter without and with known labels. Each is trained once with its recommended settings,
    the cheapest first; the time that is left goes into a search, most of it where validation says
    that it pays. Of equals the simpler one is kept. A training that the clock stops keeps its best
    state. Test labels are read once, for the measures of the contenders' best models. Without
    masks the labelled nodes are split 60 / 20 / 20 within each class.

    Args:
        graph: the user's graph, with labels.
        budget: seconds, or a clock that has started already.
        settings: ``key=value`` settings that aren't searched.
        seed: of splits, searches and trainings.
        callback: takes events of stage ``attempt`` before each training, ``epoch`` during it and
            ``trial`` after it.
        trials: trainings of each contender at most; with 1, the recommended settings. As long as
            the time suffices for them, the result doesn't depend on the speed of the machine. By
            default as many as the validation nodes can tell apart (:func:`worthwhile_trials`).
        model: the one contender to train beside the most frequent class; ``auto`` trains all.
        metric: what validation chooses by: ``accuracy``, ``balanced`` accuracy, ``f1`` (its mean
            over classes), ``auc`` or ``ap`` (average precision).
        out: the folder that the model will be in: finished trainings are kept there in ``search``,
            and the same call continues from them.
        warnings: about the tables, to be saved with the model
            (:func:`~herofilter.measures.table_warnings`).
    """
    check_contender(model)
    check_metric(metric)
    if not isinstance(budget, Clock):
        if not budget > 0:
            raise ConfigError(f"budget must be above 0 seconds (got {budget:g})")
        budget = Clock(budget)
    if trials is not None and trials < 1:
        raise ConfigError(f"trials must be at least 1 (got {trials})")
    graph = with_split(graph, seed)
    header = {
        "graph": fingerprint(graph.data),
        "settings": list(settings),
        "seed": seed,
        "metric": metric,
        "model": model,
    }
    contest = Contest(
        graph,
        available(model),
        metric,
        budget,
        seed,
        settings,
        trials or worthwhile_trials(int(graph.data.val_mask.sum())),
        ContestStore(None if out is None else Path(out), header),
        callback,
    )
    contest.run()
    return _conclude(contest, model, warnings)


def worthwhile_trials(count: int) -> int:
    """Return how many trainings of a contender ``count`` validation nodes can choose between.

    The more trainings are compared on few nodes, the more the best of them owes to chance, and a
    longer search then keeps a worse model.

    Example:
        >>> [worthwhile_trials(count) for count in (20, 100, 10_000)]
        [3, 7, 40]
    """
    return min(MOST_TRIALS, FEWEST_TRIALS + count // NODES_PER_TRIAL)


def _conclude(contest: Contest, model: str, warnings: tuple[FitWarning, ...]) -> Fitted:
    candidates = contest.candidates()
    if not set(candidates) - {"majority"}:
        failed = [attempt.message for attempt in contest.attempts if attempt.message]
        why = f"the last failed with: {failed[-1]}" if failed else "got none"
        raise RunError(f"some model must be trained within the budget ({why}); raise --budget")
    kept = candidates[model] if model in candidates else prefer(list(candidates.values()))
    data = contest.graph.data
    finished = {attempt.contender for attempt in contest.attempts if attempt.finished}
    unfinished = tuple(
        contender.title for name, contender in contest.contenders.items() if name not in finished
    )
    test = {name: _test_score(entry, data) for name, entry in candidates.items()}
    found = result_warnings(kept.predictor, kept.val, test[kept.contender.name], kept.title)
    warnings = (*warnings, *found)
    metrics = {
        "kept": kept.contender.name,
        "metric": contest.metric,
        "nodes": {part: int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test")},
        "models": {
            name: _metrics(entry, test[name], name in finished)
            for name, entry in candidates.items()
        },
        "unfinished": list(unfinished),
        "warnings": [warning.to_dict() for warning in warnings],
        "seconds": round(contest.clock.elapsed, 1),
        "budget": contest.clock.budget,
    }
    predictor = kept.predictor.with_saved(
        replace(kept.predictor.saved, metrics=metrics, graph=contest.graph)
    )
    said = _sentences(contest, candidates, kept, unfinished, finished)
    return Fitted(predictor, candidates, unfinished, said, warnings)


def _test_score(entry: Candidate, data: Data) -> dict[str, Any]:
    nodes = data.test_mask.view(-1).nonzero().view(-1)
    logits = entry.predictor.predict_logits(nodes) / entry.predictor.temperature
    return full_score(logits, data.y[nodes])


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


def _metrics(entry: Candidate, test: dict[str, Any], finished: bool) -> dict[str, Any]:
    return {
        "title": entry.title,
        "model": entry.model,
        "settings": entry.changed,
        "validation": entry.val,
        "test": test,
        "temperature": entry.predictor.temperature,
        "trials": entry.trials,
        "finished": finished,
        "epochs": len(entry.predictor.saved.history),
        "seconds": round(entry.seconds, 1),
    }


def _settings(entry: Candidate) -> str:
    changed = entry.changed.items()
    return " ".join(f"{key}={value}" for key, value in changed) or "the recommended ones"


def _sentences(
    contest: Contest,
    candidates: dict[str, Candidate],
    kept: Candidate,
    unfinished: Sequence[str],
    finished: set[str],
) -> tuple[str, ...]:
    key = METRICS[contest.metric]
    shown = {name: _percent(entry.val[key]) for name, entry in candidates.items()}
    others = [entry for entry in candidates.values() if entry is not kept]
    runner = prefer(others) if others else None
    against = (
        ""
        if runner is None
        else f"; next best is {runner.title} with {shown[runner.contender.name]}"
    )
    words = key.replace("_", " ")
    said = [
        f"kept {kept.title}: validation {words} {shown[kept.contender.name]}{against}",
        f"its settings: {_settings(kept)}",
    ]
    if len(contest.contenders) > 2 and contest.metric == "accuracy":
        said += _simpler(list(candidates.values()), kept, contest.val_y)
    groups = [
        [entry for entry in candidates.values() if entry.contender.reads_edges is reads]
        for reads in (True, False)
    ]
    if len(contest.contenders) > 2:
        judged = [
            [entry for entry in group if entry.contender.name in finished] for group in groups
        ]
        found = _compare(judged[0], judged[1], contest) if all(judged) else None
        has_edges = contest.graph.data.edge_index.numel() > 0
        said.append(edges_sentence(found, words, unfinished, has_edges))
        if "booster" not in contest.contenders:
            said.append(f"no booster took part: {INSTALL_BOOSTERS} adds them")
    return tuple(said)


def _simpler(candidates: list[Candidate], kept: Candidate, y: Tensor) -> list[str]:
    """Return a sentence on the simplest model that validation can't tell from the kept one."""
    before = candidates[: candidates.index(kept)]
    hits = [entry.log_probabilities for entry in before]
    found = first_within_error(hits, kept.log_probabilities, y)
    if found is None:
        return []
    other = before[found]
    return [
        f"simpler, and within one standard error of it on the {y.numel()} validation nodes: "
        f"{other.title}; --model {other.contender.name} keeps that"
    ]


def _compare(first: list[Candidate], second: list[Candidate], contest: Contest) -> Comparison:
    one, other = prefer(first), prefer(second)
    points = 100 * ((one.attempt.score or 0.0) - (other.attempt.score or 0.0))
    errors = paired_hits(one.log_probabilities, other.log_probabilities, contest.val_y)
    known = {entry.contender.name: entry.log_probabilities for entry in (*first, *second)}
    losses = 0.0
    if "booster" in known and "neighbour-booster" in known:
        losses = paired_errors(known["neighbour-booster"], known["booster"], contest.val_y)
    return Comparison(points, errors, losses)


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"
