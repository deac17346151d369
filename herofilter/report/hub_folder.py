"""A model as the folder that a model hub shows: weights, configuration and a card with metadata."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from herofilter.data import is_graph_path
from herofilter.errors import ConfigError
from herofilter.files import write_json, write_text
from herofilter.nn import find_model
from herofilter.report.model_card import model_card
from herofilter.report.model_report import report_page
from herofilter.report.run_subject import read_subject
from herofilter.report.subject import Subject
from herofilter.training.artifacts.locate import locate_model
from herofilter.training.artifacts.model_folder import SavedModel

README, HUB_CONFIG, HUB_WEIGHTS = "README.md", "config.json", "model.safetensors"
ATTRIBUTES = "".join(
    f"*.{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in ("safetensors", "npz")
)
TAGS = ("herofilter", "node-classification", "graph-neural-network", "heterophily")
LICENCE = "unknown"
# names on hubs of what is measured here
_METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "macro_f1": "f1",
    "auc": "roc_auc",
}


def write_hub_folder(
    folder: str | Path,
    out: str | Path,
    split: int | None = None,
    licence: str = LICENCE,
    with_graph: bool = True,
) -> SavedModel:
    """Write a model into a folder that can be uploaded to a model hub; nothing is uploaded.

    The result is a model folder, too, for every command and :meth:`Predictor.load`. A graph that
    has a name stays a name; any other is in the folder with its labels unless it is left out.

    Args:
        folder: a model folder or a run folder.
        out: the folder to write: new, empty or with a model to replace.
        split: which split of a run.
        licence: of the model, as hubs abbreviate it, such as ``mit``.
        with_graph: whether a graph without a name is in the folder. Without it the model can only
            be applied to graphs in the library.

    Returns:
        what was saved.
    """
    if not licence or licence.split() != [licence]:
        raise ConfigError(
            f"the licence must be one word as hubs write it, such as mit (got {licence!r})"
        )
    place = locate_model(folder, split)
    saved = SavedModel.load(place)
    subject = read_subject(Path(folder), split)
    kept = _published(saved, with_graph)
    out = Path(out)
    kept.save(out, weights=HUB_WEIGHTS)
    # beside the sealed files: a card is there to be edited
    write_json(out / HUB_CONFIG, _hub_config(saved))
    metadata = yaml.safe_dump(_metadata(saved, subject, licence), sort_keys=False)
    card = model_card(report_page(subject), subject.record.command, alone=True)
    write_text(out / README, f"---\n{metadata}---\n\n{card}")
    write_text(out / ".gitattributes", ATTRIBUTES)
    return kept


def _published(saved: SavedModel, with_graph: bool) -> SavedModel:
    reference = saved.reference
    if reference is not None and not is_graph_path(reference.source.name):
        return saved
    graph = saved.training_graph if with_graph else None
    return replace(saved, graph=graph, reference=None)


def _hub_config(saved: SavedModel) -> dict[str, Any]:
    return {
        "library_name": "herofilter",
        "model_type": saved.model,
        "in_channels": saved.in_channels,
        "num_labels": len(saved.classes),
        "id2label": {str(number): str(name) for number, name in enumerate(saved.classes)},
        "temperature": saved.temperature,
        "settings": saved.config.to_dict(),
    }


def _metadata(saved: SavedModel, subject: Subject, licence: str) -> dict[str, Any]:
    """Return the metadata at the head of a card, by the names that hubs give them."""
    scores = _test_scores(saved)
    results = [
        {"type": name, "name": f"test {key.replace('_', ' ')}", "value": scores[key]}
        for key, name in _METRICS.items()
        if isinstance(scores.get(key), int | float)
    ]
    about: dict[str, Any] = {
        "library_name": "herofilter",
        "license": licence,
        "pipeline_tag": "graph-ml",
        "tags": [*TAGS, *[saved.model] * (saved.model not in TAGS)],
        "metrics": [entry["type"] for entry in results] or ["accuracy"],
    }
    if results:
        task = {"type": "graph-ml", "name": "Node classification"}
        dataset = {"type": "graph", "name": subject.graph}
        entry = {"task": task, "dataset": dataset, "metrics": results}
        about["model-index"] = [{"name": _name(saved, subject), "results": [entry]}]
    return about


def _name(saved: SavedModel, subject: Subject) -> str:
    return f"{find_model(saved.model).name}-{subject.graph}"


def _test_scores(saved: SavedModel) -> Mapping[str, Any]:
    """Return what was measured on test nodes, be it by a fit or by a split of a run."""
    metrics = saved.metrics
    if "kept" in metrics:
        found: Mapping[str, Any] = metrics["models"][metrics["kept"]]["test"]
        return found
    return {key: metrics.get(f"test_{key}") for key in _METRICS}
