"""What should I know first? What could mislead a reader of the numbers below."""

import math
from typing import Any

from herofilter.measures import FitWarning
from herofilter.report.interval import percent
from herofilter.report.page_parts import Notice, Notices, Section
from herofilter.report.sections.making import chosen_epoch
from herofilter.report.sections.quality import accuracy_of, majority_accuracy
from herofilter.report.subject import Subject

_CALIBRATION = 0.1
_WITHOUT_EDGES = ("mlp", "booster")
_SERIOUS = ("no-better-than-majority", "balanced-near-chance", "repeated-rows", "telling-column")
# the section of the page that shows what a warning is about
_PLACES = {"scores": "quality", "columns": "nodes", "making": "making"}
_CHECKED = (
    "Looked for: repeated rows between parts, columns that give the class away, rare and unequal "
    "classes, isolated nodes, dropped directions, scores near chance, a model that needs no edges, "
    "validation above test, wrong confidence, and a training that ended too early."
)


def notice_section(subject: Subject) -> Section:
    """Return the section, the most serious notices first."""
    found = sorted(all_notices(subject), key=lambda notice: notice.severity != "serious")
    if not found:
        found = [Notice("good", f"Nothing that would mislead was found. {_CHECKED}")]
    return Section("first", "What should I know first?", (Notices(tuple(found)),))


def all_notices(subject: Subject) -> list[Notice]:
    """Return everything that a reader should know before the numbers."""
    checks = (_unjudged, _gain, _edges, _calibration, _end)
    more = (check(subject) for check in checks)
    warnings = [*subject.record.warnings, *(warning for warning in more if warning is not None)]
    return [
        Notice(
            "serious" if warning.kind in _SERIOUS else "careful",
            _sentence(warning.sentence),
            _sentence(warning.cure),
            _PLACES.get(warning.where, "graph"),
        )
        for warning in warnings
    ]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _unjudged(subject: Subject) -> FitWarning | None:
    if subject.judged_part:
        return None
    return FitWarning(
        "no-labels-left", "no labelled node is left to judge the model by", "label more", "scores"
    )


def _gain(subject: Subject) -> FitWarning | None:
    """Warn of a model that chance might explain, unless its scores were found wanting before."""
    known = {warning.kind for warning in subject.record.warnings}
    if not subject.judged_part or known & {"no-better-than-majority", "balanced-near-chance"}:
        return None
    accuracy, error = accuracy_of(subject)
    always = majority_accuracy(subject)
    if accuracy - always > error:
        return None
    return FitWarning(
        "no-better-than-majority",
        f"it isn't better than always naming the commonest class by more than chance explains: "
        f"{percent(accuracy)} (± {100 * error:.1f}) against {percent(always)}",
        "give it more time, more labels, or columns and edges that have to do with the class",
        "scores",
    )


def _edges(subject: Subject) -> FitWarning | None:
    """Compare the model that fit kept with the one that reads no edges."""
    models = subject.record.metrics.get("models", {})
    kept = subject.record.metrics.get("kept")
    reached = {name: _accuracy(models.get(name, {})) for name in (*_WITHOUT_EDGES, kept)}
    known = {name: value for name, value in reached.items() if value is not None}
    own = known.pop(kept, None)
    if kept in _WITHOUT_EDGES:
        return FitWarning(
            "edges-not-needed",
            "the model that was kept reads no edges: those that do weren't better on validation",
            "if edges cost something to collect, ask whether they are worth it",
            "scores",
        )
    if own is None or not known:
        return None
    best = max(known, key=known.__getitem__)
    plain = known[best]
    noise = math.sqrt(max(plain * (1 - plain), 1e-4) / max(subject.judged.numel(), 1))
    if own - plain > noise:
        return None
    return FitWarning(
        "edges-not-needed",
        f"it is as good without edges: on a node's own columns {models[best].get('title', best)} "
        f"has {percent(plain)} on the test nodes, this model {percent(own)}",
        "if edges cost something to collect, ask whether they are worth it",
        "scores",
    )


def _accuracy(entry: dict[str, Any]) -> float | None:
    value = (entry.get("test") or {}).get("accuracy")
    return None if value is None else float(value)


def _calibration(subject: Subject) -> FitWarning | None:
    if not subject.judged_part:
        return None
    right = (subject.predicted == subject.labels)[subject.judged].double().mean()
    gap = float(subject.confidence[subject.judged].mean() - right)
    if abs(gap) <= _CALIBRATION:
        return None
    word = "above" if gap > 0 else "below"
    return FitWarning(
        "wrong-confidence",
        f"its confidence is on average {100 * abs(gap):.0f} points {word} its accuracy",
        "don't read its probabilities as chances",
        "scores",
    )


def _end(subject: Subject) -> FitWarning | None:
    epoch, history = chosen_epoch(subject.record), subject.record.history
    if epoch is None or len(history) < 2 or epoch < history[-1]["epoch"]:
        return None
    return FitWarning(
        "ended-early",
        "the last epoch was the best one, so training ended before it had settled",
        "give it more time or more epochs",
        "making",
    )
