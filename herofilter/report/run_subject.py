"""The subject of a report from a model folder or a run folder."""

import json
from pathlib import Path
from typing import Any

import torch
import yaml

from herofilter.data.tables.label_columns import class_text
from herofilter.errors import RunError
from herofilter.nn import HeroFilter, NodeClassifier, find_model
from herofilter.nn.naming import model_title
from herofilter.patchers import LearnedPatcher, Patches, SpectralPatcher
from herofilter.report.interval import share_error, spread_error
from herofilter.report.subject import Curves, Record, Rival, Subject
from herofilter.reproduce.paper_tables import paper_cell
from herofilter.training.artifacts.locate import RECORDS, RUN, locate_model
from herofilter.training.artifacts.made import read_made
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.predictor import Predictor, known_labels

_NAMES = {"mlp": "MLP (no edges)", "gcn": "GCN", "herofilter": "HeroFilter"}
_CURVE_POINTS = 201
_PAPER_SPLITS = 10


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
    made = read_made(folder)
    own = _NAMES.get(saved.model, saved.model)
    title = model_title(saved.model, saved.config)
    name = (run or {}).get("graph") or made.get("graph") or folder.resolve().name
    return Subject(
        graph=str(name),
        model=own if title == saved.model else title,
        data=graph.data,
        id_of=lambda node: str(graph.ids[node].as_py()),
        classes=_class_names(saved),
        probabilities=probabilities,
        patches=patches,
        curves=curves,
        record=_record(folder, saved, run, split, made, str(name)),
    )


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
        header = yaml.safe_load((folder / RUN).read_text(encoding="utf-8"))
        records = json.loads((folder / RECORDS).read_text(encoding="utf-8"))
        return {**header, "splits": dict(records["splits"])}
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
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
        rivals = _paper(saved.model, graph)
    directed = find_model(saved.model).directed and saved.config.patcher.directed == "keep"
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
        reads_direction=directed,
    )


def _environment(folder: Path) -> dict[str, Any]:
    path = folder / "environment.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def _candidates(metrics: dict[str, Any]) -> tuple[Rival, ...]:
    """Return the other models that fit tried, with their test accuracy."""
    total = int(metrics.get("nodes", {}).get("test", 0))
    rivals = []
    for name, entry in metrics.get("models", {}).items():
        accuracy = (entry.get("test") or {}).get("accuracy")
        if name != metrics.get("kept") and accuracy is not None:
            error = share_error(round(accuracy * total), total)
            title = _NAMES.get(name, str(entry.get("title", name)))
            rivals.append(Rival(title, accuracy, error, ""))
    return tuple(rivals)


def _paper(model: str, graph: str) -> tuple[Rival, ...]:
    cell = paper_cell(model, graph)
    if cell is None:
        return ()
    mean, std = cell
    remark = "The paper's number is over ten splits, without directions of edges."
    return (Rival("the paper", mean / 100, spread_error(std, _PAPER_SPLITS) / 100, remark),)


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
    # evenly thinned, both ends kept
    points = min(grid.numel(), _CURVE_POINTS)
    kept = torch.unique(torch.linspace(0, grid.numel() - 1, points).round().long())
    singular = isinstance(patcher, SpectralPatcher) and patcher.right is not None
    return Curves(
        grid[kept],
        {name: values.detach()[kept] for name, values in end.items()},
        {name: values.detach()[kept] for name, values in start.items()},
        singular,
    )
