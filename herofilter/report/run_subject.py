"""The subject of a report from a model folder or a run folder."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from herofilter.config import Config
from herofilter.data.tables.label_columns import class_text
from herofilter.errors import RunError
from herofilter.files import read_json, read_yaml
from herofilter.measures import DataCard, FitWarning, data_card, table_warnings
from herofilter.nn import HeroFilter, NodeClassifier
from herofilter.nn.naming import model_title
from herofilter.patchers import LearnedPatcher, Patches, SpectralPatcher
from herofilter.patchers.learned import SNAPSHOT_POINTS, thinned
from herofilter.predict import ColumnImportance
from herofilter.report.explanation import explain_nodes, importance_of_columns
from herofilter.report.interval import mean_error, share_error, spread_error
from herofilter.report.subject import Curves, Record, Rival, Subject
from herofilter.reproduce.paper_tables import paper_cell
from herofilter.training.artifacts.locate import RECORDS, RUN, locate_model
from herofilter.training.artifacts.made import read_made
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.compared import COMPARED
from herofilter.training.metrics import full_score
from herofilter.training.predictor import Predictor, known_labels
from herofilter.training.search.result_warnings import result_warnings

_NAMES = {"mlp": "MLP (no edges)", "booster": "booster (no edges)", "gcn": "GCN"}
_CURVE_POINTS = 201
_PAPER_SPLITS = 10
# nodes up to which models that pass over the graph for each column are explained
_EXPLAINED_UP_TO = 2000
# columns up to which leaving out each of them, at each node that is explained, takes seconds
_EXPLAINED_COLUMNS = 200
# features of all nodes up to which the importance of columns takes a few seconds
_PERMUTED_UP_TO = 200_000
_REPEATS = 3


def read_subject(
    folder: Path, split: int | None = None, predictor: Predictor | None = None
) -> Subject:
    """Return what a report tells of a folder.

    Args:
        folder: a model folder or a run folder.
        split: which split of a run to show; the first one by default.
        predictor: the folder's model, if it is in memory already.
    """
    run = run_record(folder)
    if run is not None and split is None:
        split = next((int(name) for name in run["splits"]), None)
    place = locate_model(folder, split if run is not None else None)
    predictor = Predictor(SavedModel.load(place)) if predictor is None else predictor
    saved, graph = predictor.saved, predictor.saved.training_graph
    with torch.no_grad():
        probabilities = predictor.predict_proba()
        patches, curves = _patches(predictor.network), _curves(predictor)
    card = data_card(graph.data)
    made = read_made(folder)
    name = (run or {}).get("graph") or made.get("graph") or folder.resolve().name
    return Subject(
        graph=str(name),
        model=_title(saved),
        data=graph.data,
        card=card,
        id_of=lambda node: str(graph.ids[node].as_py()),
        classes=_class_names(saved),
        probabilities=probabilities,
        patches=patches,
        curves=curves,
        record=replace(
            _record(folder, predictor.saved, run, split, made, str(name)),
            warnings=_warnings(predictor, card),
        ),
        explain=_explainer(predictor),
        importance=_importance(predictor),
    )


def _title(saved: SavedModel) -> str:
    kept = saved.metrics.get("models", {}).get(saved.metrics.get("kept"), {})
    title = str(kept.get("title") or model_title(saved.model, saved.config))
    return _NAMES.get(title, title)


def _class_names(saved: SavedModel) -> tuple[str, ...]:
    # the classes of a dataset are only numbered
    prefix = "class " if saved.encoder is None else ""
    names = saved.training_graph.shown_classes
    return tuple(f"{prefix}{each}" if isinstance(each, int) else class_text(each) for each in names)


def run_record(folder: Path) -> dict[str, Any] | None:
    """Return what a run folder's files say of the run; None for a folder that holds a model.

    Returns:
        ``graph``, ``variant``, ``model``, ``config`` and ``splits``: the metrics of each.
    """
    if not (folder / RUN).is_file() or (folder / "model.json").exists():
        return None
    try:
        header = read_yaml(folder / RUN)
        records = read_json(folder / RECORDS)
        return {**header, "splits": dict(records["splits"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{folder} must hold a readable run with a finished split ({type(error).__name__}); "
            "copy the folder again, or train anew"
        ) from error


def _record(
    folder: Path,
    saved: SavedModel,
    run: dict[str, Any] | None,
    split: int | None,
    made: dict[str, Any],
    graph: str,
) -> Record:
    environment = made.get("environment") or _environment(folder)
    splits: dict[str, Any] = {}
    rivals = _candidates(saved.metrics)
    if run is not None:
        splits = run["splits"]
        tests = int(saved.training_graph.data.test_mask.sum())
        rivals = (*_compared(folder, splits, tests), *_paper(saved.model, graph))
    return Record(
        command=str(made.get("command", "")),
        config=saved.config.to_dict(),
        history=saved.history,
        metrics=saved.metrics,
        environment=environment,
        made={key: made[key] for key in ("seconds", "peak_memory") if key in made},
        splits=splits,
        split=split if run is not None else None,
        rivals=rivals,
        notes=saved.training_graph.notes,
    )


def _environment(folder: Path) -> dict[str, Any]:
    path = folder / "environment.json"
    found: dict[str, Any] = read_json(path) if path.is_file() else {}
    return found


def _candidates(metrics: dict[str, Any]) -> tuple[Rival, ...]:
    """Return the other models that fit tried, with their test accuracy."""
    total = int(metrics.get("nodes", {}).get("test", 0))
    rivals = []
    for name, entry in metrics.get("models", {}).items():
        accuracy = (entry.get("test") or {}).get("accuracy")
        # the most frequent class is always shown
        if name in ("majority", metrics.get("kept")) or accuracy is None:
            continue
        error = share_error(round(accuracy * total), total)
        title = _NAMES.get(name, str(entry.get("title", name)))
        cut = "" if entry.get("finished", True) else f"{title} wasn't trained to the end."
        rivals.append(Rival(title, accuracy, error, cut))
    return tuple(rivals)


def _compared(folder: Path, own: dict[str, Any], tests: int) -> tuple[Rival, ...]:
    """Return the models that were trained beside a run, on the splits that both have.

    ``tests`` is the number of test nodes of a split.
    """
    rivals = []
    place = folder / COMPARED
    for found in sorted(place.iterdir()) if place.is_dir() else ():
        run = run_record(found)
        common = [] if run is None else [split for split in own if split in run["splits"]]
        if run is None or not common:
            continue
        reached = [float(run["splits"][split]["test_accuracy"]) for split in common]
        before = [float(own[split]["test_accuracy"]) for split in common]
        behind = tuple(one - other for one, other in zip(before, reached, strict=True))
        mean = sum(reached) / len(reached)
        error = mean_error(reached) or share_error(round(mean * tests), tests)
        title = model_title(run["model"], Config.from_dict(run["config"]))
        rivals.append(Rival(_NAMES.get(run["model"], title), mean, error, "", behind))
    return tuple(rivals)


def _paper(model: str, graph: str) -> tuple[Rival, ...]:
    cell = paper_cell(model, graph)
    if cell is None:
        return ()
    mean, std = cell
    remark = "The paper's number is over ten splits, without directions of edges."
    return (Rival("the paper", mean / 100, spread_error(std, _PAPER_SPLITS) / 100, remark),)


def _warnings(predictor: Predictor, card: DataCard) -> tuple[FitWarning, ...]:
    """Return the warnings that were saved with a model, or those that its graph gives."""
    saved, graph = predictor.saved, predictor.saved.training_graph
    if "warnings" in saved.metrics:
        return tuple(FitWarning(**entry) for entry in saved.metrics["warnings"])
    found = table_warnings(graph, card)
    masks = [graph.data.get(name) for name in ("val_mask", "test_mask")]
    if any(mask is None or not bool(mask.any()) for mask in masks):
        return found
    scores = [
        full_score(predictor.predict_logits(nodes) / predictor.temperature, graph.data.y[nodes])
        for nodes in (mask.nonzero().view(-1) for mask in masks if mask is not None)
    ]
    title = model_title(saved.model, saved.config)
    return (*found, *result_warnings(predictor, scores[0], scores[1], title))


def _explainer(predictor: Predictor) -> Callable[[list[int]], list[dict[str, Any]]] | None:
    """Return what explains nodes by columns; None without names, or where it would take long."""
    graph, network = predictor.saved.training_graph, predictor.network
    quick = isinstance(network, HeroFilter) or network.ignores_graph
    small = int(graph.data.num_nodes or 0) <= _EXPLAINED_UP_TO
    encoder = predictor.saved.encoder
    if encoder is None or len(encoder.columns) > _EXPLAINED_COLUMNS or not (quick or small):
        return None
    return lambda nodes: list(explain_nodes(predictor, [graph.ids[node].as_py() for node in nodes]))


def _importance(predictor: Predictor) -> tuple[ColumnImportance, ...]:
    saved, data = predictor.saved, predictor.saved.training_graph.data
    cells = 0 if data.x is None else int(data.num_nodes or 0) * int(data.x.size(1))
    masks = [data.get(name) for name in ("val_mask", "test_mask")]
    judged = any(mask is not None and bool(mask.any()) for mask in masks)
    if saved.encoder is None or not judged or not 0 < cells <= _PERMUTED_UP_TO:
        return ()
    measured = importance_of_columns(predictor, repeats=_REPEATS)
    return tuple(ColumnImportance(**entry) for entry in measured["columns"])


def _patches(network: NodeClassifier) -> Patches | None:
    if not isinstance(network, HeroFilter):
        return None
    found = network.patches()
    return found.for_all_nodes() if isinstance(found, Patches) else None


def _curves(predictor: Predictor) -> Curves | None:
    network = predictor.network
    patcher = network.patcher if isinstance(network, HeroFilter) else None
    if not isinstance(patcher, LearnedPatcher):
        return None
    grid, end = patcher.curves()
    if not grid.numel():
        return None
    known = known_labels(predictor.data, len(predictor.classes))
    start = {} if known is None else patcher.start_curves(known)
    kept, few = (thinned(grid.numel(), most) for most in (_CURVE_POINTS, SNAPSHOT_POINTS))
    singular = isinstance(patcher, SpectralPatcher) and patcher.right is not None
    return Curves(
        grid[kept],
        {name: values.detach()[kept] for name, values in end.items()},
        {name: values.detach()[kept] for name, values in start.items()},
        singular,
        _between(predictor.saved.history, set(end), few.numel()),
        tuple(grid[few].tolist()),
    )


def _between(
    history: list[dict[str, Any]], names: set[str], points: int
) -> dict[int, dict[str, list[float]]]:
    """Return the filters at each choice of patches that the history has; none in old folders."""
    found = {int(entry["epoch"]): entry.get("filters") or {} for entry in history}
    return {
        epoch: filters
        for epoch, filters in found.items()
        if set(filters) == names and all(len(curve) == points for curve in filters.values())
    }
