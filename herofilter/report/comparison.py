"""Several runs on one page: what each reached, and the differences over common splits."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from herofilter.errors import RunError
from herofilter.report.figure import Bars, Figure, Lines, Panel
from herofilter.report.interval import count, mean_error, percent
from herofilter.report.page_parts import (
    Chart,
    Charts,
    Notice,
    Notices,
    Page,
    Part,
    Section,
    Table,
    Words,
)
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


def comparison_page(entries: Sequence[Entry]) -> Page:
    """Return the page: what each run reached, then the differences from the first one."""
    return Page(
        title="Comparison of runs",
        subtitle=", ".join(entry.name for entry in entries),
        sections=(_reached(entries), _differences(entries), _settings(entries)),
    )


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
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
        kept = metrics["models"][metrics["kept"]]
        reached = float(kept["test"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
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


def _reached(entries: Sequence[Entry]) -> Section:
    rows, means, errors = [], [], []
    for entry in entries:
        values = list(entry.accuracy.values())
        mean, error = statistics.fmean(values), mean_error(values)
        means.append(100 * mean)
        errors.append(100 * (error or 0.0))
        interval = "–" if error is None else f"± {100 * error:.1f}"
        seconds = "–" if entry.seconds is None else f"{entry.seconds:.1f}"
        graphs = ", ".join(sorted({graph for graph, _ in entry.accuracy}))
        rows.append(
            (entry.name, entry.model, graphs, str(len(values)), percent(mean), interval, seconds)
        )
    titles = ("run", "model", "graph", "splits", "test accuracy", "95 % interval", "seconds")
    bars = Bars("", [entry.name for entry in entries], means, errors, None, ".1f")
    panel = Panel("", "", "test accuracy (%)", (bars,), y_range=(0, 100))
    best = max(range(len(entries)), key=means.__getitem__)
    finding = f"{entries[best].name} has the highest mean, {means[best]:.1f} %."
    chart = Chart("means", "Test accuracy, mean over splits", finding, Figure("", (panel,)), True)
    table = Table(titles, tuple(rows), "All runs")
    return Section("reached", "What did each reach?", (chart, table))


def _differences(entries: Sequence[Entry]) -> Section:
    first, others = entries[0], entries[1:]
    rows, means, errors, notices = [], [], [], []
    for other in others:
        found = paired(first, other)
        if not found:
            notices.append(
                Notice(
                    "careful",
                    f"{other.name} has no split in common with {first.name}, so the two can't be "
                    "compared in pairs.",
                    "Train both on the same splits of the same graph.",
                )
            )
            means.append(None)
            errors.append(None)
            continue
        mean, error = statistics.fmean(found), mean_error(found)
        means.append(100 * mean)
        errors.append(100 * (error or 0.0))
        better = sum(value > 0 for value in found)
        worse = sum(value < 0 for value in found)
        interval = (
            "–" if error is None else f"{100 * (mean - error):+.1f} to {100 * (mean + error):+.1f}"
        )
        rows.append(
            (other.name, str(len(found)), f"{100 * mean:+.1f}", interval, str(better), str(worse))
        )
    names = [other.name for other in others]
    bars = Bars("", names, means, errors, None, ".1f")
    panel = Panel("", "", f"points above {first.name}", (bars,))
    chart = Chart(
        "differences",
        f"Differences from {first.name} on the same splits",
        _said(first, others),
        Figure("", (panel,)),
    )
    lines = Chart(
        "by-split",
        "Every split",
        "A line that lies above another all the way is better on every split.",
        Figure("", (_by_split(entries),)),
    )
    titles = ("run", "common splits", "points", "95 % interval", "better", "worse")
    table = Table(titles, tuple(rows), f"In pairs with {first.name}")
    words = (
        "Splits differ in difficulty, so two runs are compared split by split: the interval is that "
        "of the mean difference (Student's t).",
    )
    warned: list[Part] = [Notices(tuple(notices))] if notices else []
    parts = (*warned, Words(words), Charts((chart, lines)), table)
    return Section("differences", "Which is better on the same splits?", parts)


def _said(first: Entry, others: Sequence[Entry]) -> str:
    said = []
    for other in others:
        found = paired(first, other)
        error = mean_error(found) if found else None
        if error is None:
            continue
        mean = statistics.fmean(found)
        if abs(mean) <= error:
            said.append(f"{other.name} and {first.name} can't be told apart.")
        else:
            word = "above" if mean > 0 else "below"
            said.append(f"{other.name} is {100 * abs(mean):.1f} points {word} {first.name}.")
    return " ".join(said) or "With a single common split no interval can be given."


def _by_split(entries: Sequence[Entry]) -> Panel:
    places = list(dict.fromkeys(place for entry in entries for place in entry.accuracy))
    order = {place: float(number) for number, place in enumerate(places, 1)}
    marks = tuple(
        Lines(
            entry.name,
            [order[place] for place in entry.accuracy],
            [100 * value for value in entry.accuracy.values()],
        )
        for entry in entries
    )
    step = max(1, len(places) // 10)
    return Panel("", "split, in the order of the runs", "test accuracy (%)", marks, x_step=step)


def _settings(entries: Sequence[Entry]) -> Section:
    keys = dict.fromkeys(key for entry in entries for key in entry.settings)
    rows = []
    for key in keys:
        values = [entry.settings.get(key, "–") for entry in entries]
        if len(set(values)) > 1:
            rows.append((key, *values))
    title = "What was done differently?"
    if not rows:
        return Section("settings", title, (Words(("All runs have the same settings.",)),))
    titles = ("setting", *(entry.name for entry in entries))
    caption = f"{count(len(rows), 'setting')} of {len(keys)} differ"
    return Section("settings", title, (Table(titles, tuple(rows), caption),))
