"""What should I know first? What could mislead a reader of the numbers below."""

import math

import torch

from herofilter.data.structure import graph_structure
from herofilter.measures.card import LEAKAGE_NODES
from herofilter.measures.leakage import repeated_test_rows
from herofilter.report.interval import count, percent
from herofilter.report.page_parts import Notice, Notices, Section
from herofilter.report.sections.making import chosen_epoch
from herofilter.report.sections.quality import accuracy_of, majority_accuracy
from herofilter.report.subject import PARTS, Subject

_FEW = 10
_LARGEST_SHARE = 0.7
_ALONE_SHARE = 0.05
_CALIBRATION = 0.1
_CHECKED = (
    "Checked: repeated rows between parts, balance of the classes, isolated nodes, directions, the "
    "gain over the commonest class and over models without edges, validation against test, "
    "calibration, and the end of training."
)


def notice_section(subject: Subject) -> Section:
    """Return the section, the most serious notices first."""
    found = all_notices(subject)
    order = {"serious": 0, "careful": 1, "good": 2}
    found.sort(key=lambda notice: order[notice.severity])
    if not found:
        found = [Notice("good", f"Nothing that would mislead was found. {_CHECKED}")]
    return Section("first", "What should I know first?", (Notices(tuple(found)),))


def all_notices(subject: Subject) -> list[Notice]:
    """Return everything that a reader should know before the numbers."""
    checks = (_gain, _edges, _leakage, _gap, _balance, _few, _alone, _direction, _calibration, _end)
    return [notice for notice in (check(subject) for check in checks) if notice is not None]


def _gain(subject: Subject) -> Notice | None:
    if not subject.judged_part:
        return Notice("serious", "No labelled node is left to judge the model by.", "Label more.")
    accuracy, error = accuracy_of(subject)
    plain = majority_accuracy(subject)
    if accuracy - plain > error:
        return None
    return Notice(
        "serious",
        f"The model isn't better than always naming the commonest class: {percent(accuracy)} "
        f"against {percent(plain)} (± {100 * error:.1f}).",
        "Give columns or edges that have to do with the label, or more time.",
        "quality",
    )


def _edges(subject: Subject) -> Notice | None:
    """Compare with the best rival that reads no edges."""
    models = subject.record.metrics.get("models", {})
    kept = subject.record.metrics.get("kept")
    if kept not in models or "mlp" not in models:
        return None
    plain, own = (models[name].get("test", {}).get("accuracy") for name in ("mlp", kept))
    if plain is None or own is None:
        return None
    noise = math.sqrt(max(plain * (1 - plain), 1e-4) / max(subject.judged.numel(), 1))
    if own - plain > noise and kept != "mlp":
        return None
    return Notice(
        "careful",
        f"It is as good without edges: a perceptron on the node's own columns has {percent(plain)}"
        + (", and is what was kept." if kept == "mlp" else f", this model {percent(own)}."),
        "If the edges cost something to collect, ask whether they are worth it.",
        "quality",
    )


def _leakage(subject: Subject) -> Notice | None:
    x, masks = subject.data.x, [subject.data.get(f"{part}_mask") for part in PARTS[:3]]
    if x is None or subject.num_nodes > LEAKAGE_NODES or any(mask is None for mask in masks):
        return None
    repeated, total = repeated_test_rows(subject.data), int((subject.parts == 2).sum())
    if not repeated or repeated < 0.01 * total:
        return None
    return Notice(
        "serious" if repeated > 0.1 * total else "careful",
        f"{count(repeated, 'test node')} of {total:,} have exactly the features of a training "
        "node, so part of the test may be known by heart.",
        "Remove duplicates, or split so that equal rows stay together.",
        "graph",
    )


def _gap(subject: Subject) -> Notice | None:
    val, test = ((subject.parts == at) & (subject.labels >= 0) for at in (1, 2))
    if not bool(val.any()) or not bool(test.any()):
        return None
    right = (subject.predicted == subject.labels).double()
    high, low = float(right[val].mean()), float(right[test].mean())
    sizes = int(val.sum()), int(test.sum())
    pairs = zip((high, low), sizes, strict=True)
    noise = math.sqrt(sum(max(share * (1 - share), 1e-4) / size for share, size in pairs))
    if high - low <= 2.5 * noise:
        return None
    return Notice(
        "careful",
        f"Validation ({percent(high)}) is far above test ({percent(low)}): settings were chosen on "
        "validation, and some of its height is luck.",
        "Trust the test figure.",
        "quality",
    )


def _balance(subject: Subject) -> Notice | None:
    sizes = torch.bincount(subject.labels[subject.labels >= 0])
    share = float(sizes.max() / sizes.sum()) if sizes.numel() else 0.0
    if share <= _LARGEST_SHARE:
        return None
    return Notice(
        "careful",
        f"{percent(share, 0)} of the labelled nodes are {subject.classes[int(sizes.argmax())]}, so "
        "a high accuracy says little.",
        "Read balanced accuracy and the recall of each class instead.",
        "quality",
    )


def _few(subject: Subject) -> Notice | None:
    seen = subject.labels[(subject.parts == PARTS.index("train")) & (subject.labels >= 0)]
    sizes = torch.bincount(seen, minlength=len(subject.classes)).tolist()
    few = [name for name, size in zip(subject.classes, sizes, strict=True) if size < _FEW]
    if not few:
        return None
    shown = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    return Notice(
        "careful",
        f"{count(len(few), 'class')} with fewer than {_FEW} training nodes: {shown}.",
        "Label more of them, or join rare classes.",
        "graph",
    )


def _alone(subject: Subject) -> Notice | None:
    alone = int((subject.degrees == 0).sum())
    if alone <= _ALONE_SHARE * subject.num_nodes:
        return None
    return Notice(
        "careful",
        f"{count(alone, 'node')} of {subject.num_nodes:,} have no neighbours; for them only their "
        "own columns count.",
        "Check that ids of edges and nodes are spelt alike.",
        "graph",
    )


def _direction(subject: Subject) -> Notice | None:
    if subject.record.reads_direction or not graph_structure(subject.data).directed:
        return None
    return Notice(
        "careful",
        "The edges have a direction, which this model doesn't use.",
        "herofilter with directed=keep follows directions.",
        "graph",
    )


def _calibration(subject: Subject) -> Notice | None:
    if not subject.judged_part:
        return None
    right = (subject.predicted == subject.labels)[subject.judged].double().mean()
    gap = float(subject.confidence[subject.judged].mean() - right)
    if abs(gap) <= _CALIBRATION:
        return None
    word = "above" if gap > 0 else "below"
    return Notice(
        "careful",
        f"Its confidence is {100 * abs(gap):.0f} points {word} its accuracy.",
        "Don't read probabilities as chances.",
        "quality",
    )


def _end(subject: Subject) -> Notice | None:
    epoch, history = chosen_epoch(subject.record), subject.record.history
    if epoch is None or len(history) < 2 or epoch < history[-1]["epoch"]:
        return None
    return Notice(
        "careful",
        "The last epoch was the best one, so training ended before it had settled.",
        "Give it more time or more epochs.",
        "making",
    )
