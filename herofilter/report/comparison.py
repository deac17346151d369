"""Several runs on one page: what each reached, and the differences over common splits."""

import statistics
from collections.abc import Sequence

from herofilter.report.compared_run import Entry, paired
from herofilter.report.figure import Bars, Figure, Lines, Panel
from herofilter.report.interval import mean_error, percent
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


def comparison_page(entries: Sequence[Entry]) -> Page:
    """Return the page: what each run reached, then the differences from the first one."""
    return Page(
        title="Comparison of runs",
        subtitle=", ".join(entry.name for entry in entries),
        sections=(_reached(entries), _differences(entries), _settings(entries)),
    )


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
    rows, notices = [], []
    means: list[float | None] = []
    errors: list[float | None] = []
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
        low, high = (100 * (mean + sign * (error or 0.0)) for sign in (-1, 1))
        interval = "–" if error is None else f"{low:+.1f} to {high:+.1f}"
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
        _won(first, others),
        Figure("", (_by_split(entries),)),
    )
    titles = ("run", "common splits", "points", "95 % interval", "better", "worse")
    table = Table(titles, tuple(rows), f"In pairs with {first.name}")
    words = (
        "Splits differ in difficulty, so two runs are compared split by split: the interval is "
        "that of the mean difference (Student's t).",
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


def _won(first: Entry, others: Sequence[Entry]) -> str:
    said = []
    for other in others:
        found = paired(first, other)
        if found:
            better = sum(value > 0 for value in found)
            said.append(f"{other.name} is better on {better} of {len(found)}")
    return f"Against {first.name}: {', '.join(said)} common splits." if said else "None in common."


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
    models = [entry.model for entry in entries]
    rows = [("model", *models)] if len(set(models)) > 1 else []
    for key in keys:
        values = [entry.settings.get(key, "–") for entry in entries]
        if len(set(values)) > 1:
            rows.append((key, *values))
    title = "What was done differently?"
    if not rows:
        return Section("settings", title, (Words(("All runs have the same model and settings.",)),))
    titles = ("setting", *(entry.name for entry in entries))
    return Section("settings", title, (Table(titles, tuple(rows), "What differs"),))
