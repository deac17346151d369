"""What a comparison reads of a run: its accuracy on each split, and its settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herofilter.errors import RunError
from herofilter.files import read_json, read_yaml
from herofilter.report.run_subject import run_record
from herofilter.training.artifacts.made import read_made
from herofilter.training.artifacts.sealed_folder import read_seal

# a graph and a split of it: what two runs must share to be compared
Place = tuple[str, str]


@dataclass(frozen=True)
class Entry:
    """One run of a comparison.

    Args:
        name: what the page calls it.
        model: what was trained.
        accuracy: on the test nodes, by graph and split.
        settings: all settings, by their names.
        seconds: of training, where they are known.
    """

    name: str
    model: str
    accuracy: dict[Place, float]
    settings: dict[str, str]
    seconds: float | None


def read_entries(folders: Sequence[Path]) -> list[Entry]:
    """Return what the files of some folders say; no model is loaded."""
    names = _names(folders)
    return [_entry(folder, name) for folder, name in zip(folders, names, strict=True)]


def paired(first: Entry, other: Entry) -> list[float]:
    """Return by how much ``other`` is above ``first`` on each split that both have.

    Example:
        >>> one, two = (Entry(n, "", {("g", "0"): a}, {}, None) for n, a in (("x", .5), ("y", .75)))
        >>> paired(one, two)
        [0.25]
    """
    common = [place for place in first.accuracy if place in other.accuracy]
    return [other.accuracy[place] - first.accuracy[place] for place in common]


def _entry(folder: Path, name: str) -> Entry:
    run = run_record(folder)
    if run is not None:
        splits: dict[str, dict[str, Any]] = run["splits"]
        graph = str(run["graph"])
        accuracy = {(graph, split): float(m["test_accuracy"]) for split, m in splits.items()}
        seconds = sum(float(entry["seconds"]) for entry in splits.values())
        return Entry(name, str(run["model"]), accuracy, _flat(run["config"]), seconds)
    seal = read_seal(folder)
    try:
        metrics = read_json(folder / "metrics.json")
        config = read_yaml(folder / "config.yaml")
        kept = metrics["models"][metrics["kept"]]
        reached = float(kept["test"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{folder} must hold a run, or a model with its test accuracy, to be compared (got a "
            f"model without, {type(error).__name__}); give folders of train or fit"
        ) from error
    graph = str(read_made(folder).get("graph", folder.name))
    seconds = float(kept.get("seconds", 0.0))
    return Entry(name, str(seal["model"]), {(graph, ""): reached}, _flat(config), seconds)


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the last parts of the paths, as many as tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    if len(set(parts)) < len(parts):
        raise RunError("runs must be different folders to be compared (got one twice)")
    depth = 1
    while len({path[-depth:] for path in parts}) < len(parts):
        depth += 1
    return ["/".join(path[-depth:]) for path in parts]


def _flat(config: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {
        f"{section}.{key}": str(value)
        for section, values in config.items()
        for key, value in values.items()
    }
