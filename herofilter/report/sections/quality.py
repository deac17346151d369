"""How good is it? The measure with its interval, beside others; where it errs."""

from typing import Any

import torch

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Panel
from herofilter.report.interval import (
    count,
    mean_error,
    percent,
    percent_bars,
    points,
    share_error,
    share_interval,
)
from herofilter.report.page_parts import Chart, Charts, Part, Section, Table, Tile, Tiles, Words
from herofilter.report.sections.node_groups import by_degree, by_heterophily, commonest_class
from herofilter.report.subject import Subject
from herofilter.training.metrics import full_score

_WORDS = {"test": "test", "val": "validation"}
_MOST_CLASSES = 16
_HOW_TO_COMPARE = (
    "For other models beside it, give the command again with --compare booster,mlp,gcn and this "
    "folder as --out: they are trained on the same splits."
)
_BINS = 10


def quality_section(subject: Subject) -> Section:
    """Return the section, or one that says that no label is left to judge by."""
    name, title = "quality", "How good is it?"
    if not subject.judged_part:
        words = "No node outside the training part has a label, so nothing can be said of quality."
        return Section(name, title, (Words((words,)),))
    measured = _measures(subject)
    parts: list[Part] = [_tiles(subject, measured), Words((_opening(subject),))]
    parts += [
        _comparison(subject),
        *_in_pairs(subject),
        Charts((_confusion(subject), _reliability(subject))),
    ]
    parts.append(Charts((by_heterophily(subject), by_degree(subject))))
    parts.append(_classes(subject, measured))
    return Section(name, title, tuple(parts))


def accuracy_of(subject: Subject) -> tuple[float, float]:
    """Return the accuracy and half the width of its 95 % interval, over splits if several."""
    values = subject.record.over_splits("test_accuracy")
    spread = mean_error(values)
    if spread is not None:
        return sum(values) / len(values), spread
    right = int((subject.predicted == subject.labels)[subject.judged].sum())
    return right / subject.judged.numel(), share_error(right, subject.judged.numel())


def majority_accuracy(subject: Subject) -> float:
    """Return what predicting the commonest training class everywhere would reach."""
    y = subject.labels[subject.judged]
    return float((y == commonest_class(subject)).double().mean())


def _measures(subject: Subject) -> dict[str, Any]:
    logits = subject.probabilities[subject.judged].clamp(min=1e-12).log()
    return full_score(logits, subject.labels[subject.judged])


def _tiles(subject: Subject, measured: dict[str, Any]) -> Tiles:
    accuracy, error = accuracy_of(subject)
    part, several = _WORDS[subject.judged_part], len(subject.record.splits)
    where = f"95 % interval ± {100 * error:.1f}, " + (
        f"over {several} splits" if several > 1 else count(subject.judged.numel(), f"{part} node")
    )
    shown = {"balanced_accuracy": "Balanced accuracy", "macro_f1": "Macro F1", "auc": "AUC"}
    more = [
        Tile(title, percent(_mean(subject, measured, key)))
        for key, title in shown.items()
        if measured[key] is not None
    ]
    gap = percent(_mean(subject, measured, "calibration_error"))
    return Tiles(
        (
            Tile(f"{part.capitalize()} accuracy", percent(accuracy), where),
            Tile("Always the commonest class", percent(majority_accuracy(subject))),
            *more,
            Tile("Calibration error", gap, "confidence against accuracy"),
        )
    )


def _mean(subject: Subject, measured: dict[str, Any], key: str) -> float:
    """Return a measure: the mean over splits, or that of the split shown."""
    values = subject.record.over_splits(f"test_{key}")
    return sum(values) / len(values) if len(values) > 1 else float(measured[key])


def _opening(subject: Subject) -> str:
    accuracy, error = accuracy_of(subject)
    plain = majority_accuracy(subject)
    part = _WORDS[subject.judged_part]
    gain = accuracy - plain
    said = (
        f"{subject.model} is right for {percent(accuracy)} of the {part} nodes; always naming the "
        f"commonest class would be right for {percent(plain)}"
    )
    said += (
        f", {100 * gain:.1f} points less."
        if gain > error
        else ", so it is not better than that beyond chance."
    )
    split, several = subject.record.split, len(subject.record.splits) > 1
    return f"{said} The charts below show split {split}." if several else said


def _comparison(subject: Subject) -> Chart:
    accuracy, error = accuracy_of(subject)
    rivals = subject.record.rivals
    names = [subject.model, "commonest class", *(rival.name for rival in rivals)]
    values = [accuracy, majority_accuracy(subject), *(rival.accuracy for rival in rivals)]
    errors = [error, 0.0, *(rival.error or 0.0 for rival in rivals)]
    shown, reach = [100 * value for value in values], [100 * value for value in errors]
    gaps = [None] * (len(names) - 1)
    own = Bars("", names, (shown[0], *gaps), (reach[0], *gaps), None, ".1f", 0)
    others = Bars("", names, (None, *shown[1:]), (None, *reach[1:]), None, ".1f", 5)
    panel = Panel("", "", "accuracy (%)", (own, others), y_range=(0, 100), stacked=True)
    best = max(range(1, len(names)), key=lambda position: values[position])
    lead, sure = 100 * (accuracy - values[best]), reach[0]
    behind = rivals[best - 2].behind if best > 1 else ()
    paired = mean_error(behind)
    if paired is not None:
        # splits differ in difficulty, so pairs tell more
        lead, sure = 100 * sum(behind) / len(behind), 100 * paired
    remarks = " ".join(rival.remark for rival in rivals if rival.remark)
    return Chart(
        "comparison",
        "Accuracy beside other models, with 95 % intervals",
        f"{_lead(subject.model, names[best], lead, sure)} {remarks}".strip(),
        _one(panel),
        wide=True,
        height=300,
    )


def _in_pairs(subject: Subject) -> list[Part]:
    """Return the differences from models on the same splits; or how to get some, for a run."""
    rows = tuple(
        (
            rival.name,
            str(len(rival.behind)),
            points(rival.behind),
            str(sum(value > 0 for value in rival.behind)),
            str(sum(value < 0 for value in rival.behind)),
        )
        for rival in subject.record.rivals
        if rival.behind
    )
    if rows:
        own = subject.model
        titles = ("model", "common splits", f"points that {own} is above", "better on", "worse on")
        return [Table(titles, rows, "Split by split, with 95 % intervals of the mean difference")]
    return [Words((_HOW_TO_COMPARE,))] if subject.record.splits else []


def _lead(own: str, other: str, points: float, error: float) -> str:
    """Return a sentence on how far a model is ahead of another one."""
    if abs(points) < 0.05:
        return f"{own} and {other} are equally good."
    said = f"{own} is {abs(points):.1f} points {'above' if points > 0 else 'below'} {other}"
    return f"{said}, no more than chance explains." if abs(points) <= error else f"{said}."


def _confusion(subject: Subject) -> Chart:
    y, predicted = subject.labels[subject.judged], subject.predicted[subject.judged]
    number = len(subject.classes)
    counts = torch.bincount(y * number + predicted, minlength=number**2).view(number, number)
    sizes = counts.sum(dim=0) + counts.sum(dim=1)
    kept = sizes.argsort(descending=True, stable=True)[:_MOST_CLASSES].sort().values
    names = [subject.classes[index] for index in kept.tolist()]
    shown = counts[kept][:, kept]
    off = counts.clone().fill_diagonal_(0)
    finding = "No node got a wrong class."
    if int(off.sum()):
        row, column = divmod(int(off.argmax()), number)
        finding = (
            f"The commonest mistake: {count(int(off.max()), 'node')} of "
            f"{subject.classes[row]} taken for {subject.classes[column]}."
        )
    if number > len(names):
        finding += f" Shown are the {len(names)} largest of {number} classes."
    grid = HeatMap(names, names, shown.double().tolist(), "nodes", written="d")
    panel = Panel("", "predicted class", "true class", (grid,))
    height = max(330, 110 + 34 * len(names))
    return Chart("confusion", "Which classes are mixed up", finding, _one(panel), height=height)


def _one(panel: Panel) -> Figure:
    return Figure("", (panel,))


def _reliability(subject: Subject) -> Chart:
    sure = subject.confidence[subject.judged]
    right = (subject.predicted == subject.labels)[subject.judged]
    bins = (sure * _BINS).ceil().long().sub(1).clamp(0, _BINS - 1)
    filled = [bins == number for number in range(_BINS) if bool((bins == number).any())]
    x = [100 * float(sure[here].mean()) for here in filled]
    shares = percent_bars([(int(right[here].sum()), int(here.sum())) for here in filled])
    ideal = Lines("perfectly calibrated", (0.0, 100.0), (0.0, 100.0), markers=False, dashed=True)
    marks = (Lines("this model", x, *shares), ideal)
    ends = (0, 102)
    panel = Panel("", "confidence (%)", "right (%)", marks, x_range=ends, y_range=ends)
    gap = float(sure.mean()) - float(right.double().mean())
    word = "too sure of itself" if gap > 0 else "too modest"
    finding = f"On average it is {100 * abs(gap):.1f} points {word}."
    if abs(gap) < 0.01:
        finding = "Confidence and accuracy agree on average to within one point."
    return Chart("reliability", "Can its confidence be trusted?", finding, _one(panel))


def _classes(subject: Subject, measured: dict[str, Any]) -> Table:
    rows = []
    for name, entry in zip(subject.classes, measured["classes"], strict=True):
        total = int(entry["count"] or 0)
        hits = round((entry["recall"] or 0) * total)
        low, high = share_interval(hits, total)
        between = f"{100 * low:.0f}–{100 * high:.0f} %" if total else "–"
        shown = [percent(entry[key]) for key in ("precision", "recall", "f1")]
        rows.append((name, f"{total:,}", f"{int(entry['predicted'] or 0):,}", *shown, between))
    titles = ("class", "nodes", "predicted", "precision", "recall", "F1", "recall, 95 % interval")
    caption = f"Each class, on the {_WORDS[subject.judged_part]} nodes"
    return Table(titles, tuple(rows), caption)
