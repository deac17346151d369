"""How was it made? Command, settings, versions, time, and the course of training."""

from typing import Any

from herofilter.config import Config
from herofilter.memory import format_bytes
from herofilter.report.figure import Figure, Lines, Panel
from herofilter.report.interval import percent
from herofilter.report.page_parts import Chart, Charts, Code, Facts, Part, Section, Table, Words
from herofilter.report.subject import Record, Subject

_GREY = 5
_MOST_POINTS = 400
_PARTS = {"train": "training nodes", "val": "validation nodes", "test": "test nodes"}


def making_section(subject: Subject) -> Section:
    """Return the section."""
    record = subject.record
    parts: list[Part] = []
    if record.command:
        parts.append(Code(record.command, "The command to repeat it"))
    parts.append(Facts(_facts(subject)))
    if record.history:
        parts.append(Charts(_curves(record)))
    if len(record.splits) > 1:
        parts.append(_splits(record))
    parts.append(_settings(record.config))
    parts.append(_environment(record.environment))
    if not record.command:
        parts.insert(0, Words(("The command that made this model wasn't recorded.",)))
    return Section("making", "How was it made?", tuple(parts))


def _splits(record: Record) -> Table:
    shown = {"val_accuracy": "validation", "test_accuracy": "test", "test_auc": "test AUC"}
    kept = {key: title for key, title in shown.items() if record.over_splits(key)}
    rows = tuple(
        (split, *(percent(entry[key]) for key in kept)) for split, entry in record.splits.items()
    )
    return Table(("split", *kept.values()), rows, "Every split")


def chosen_epoch(record: Record) -> int | None:
    """Return the epoch whose weights were kept; the one that the metrics name, if they do."""
    named = record.metrics.get("best_epoch")
    if named is not None:
        return int(named)
    if not record.history:
        return None
    best = max(record.history, key=lambda entry: (entry["val_accuracy"], -entry["val_loss"]))
    return int(best["epoch"])


def _facts(subject: Subject) -> tuple[tuple[str, str], ...]:
    record = subject.record
    pairs: dict[str, str] = {"model": subject.model, "graph": subject.graph}
    for position, words in enumerate(_PARTS.values()):
        pairs[words] = f"{int((subject.parts == position).sum()):,}"
    if record.split is not None:
        pairs["split shown"] = str(record.split)
    seed = record.config.get("train", {}).get("seed")
    if seed is not None:
        pairs["seed"] = str(seed)
    seconds = record.metrics.get("seconds")
    if seconds is not None:
        pairs["time to train"] = f"{seconds:.1f} s"
    total = record.made.get("seconds")
    if total is not None:
        pairs["time in all"] = f"{total:.1f} s"
    peak = record.made.get("peak_memory")
    if peak is not None:
        pairs["peak memory"] = format_bytes(int(peak))
    epoch = chosen_epoch(record)
    if epoch is not None:
        pairs["chosen epoch"] = f"{epoch + 1} of {len(record.history)}"
    return tuple(pairs.items())


def _curves(record: Record) -> tuple[Chart, ...]:
    # evenly thinned, the last one kept
    step = max(1, len(record.history) // _MOST_POINTS)
    shown = record.history[::-step][::-1]
    epochs = [float(entry["epoch"] + 1) for entry in shown]
    epoch = chosen_epoch(record)
    best = next((entry for entry in record.history if entry["epoch"] == epoch), record.history[-1])
    losses = [
        Lines("training loss", epochs, [entry["train_loss"] for entry in shown], markers=False),
        Lines("validation loss", epochs, [entry["val_loss"] for entry in shown], markers=False),
    ]
    reached = [Lines("validation accuracy", epochs, [_share(e) for e in shown], markers=False)]
    heights = [entry[key] for entry in shown for key in ("train_loss", "val_loss")]
    at = best["epoch"] + 1
    losses.append(_mark(at, min(heights), max(heights)))
    reached.append(_mark(at, min(map(_share, shown)), max(map(_share, shown))))
    later = record.history[-1]["epoch"] - best["epoch"]
    finding = (
        f"Epoch {at} of {len(record.history)} was kept, with "
        f"{percent(best['val_accuracy'])} on validation; {later} more brought nothing better."
        if later
        else f"The last epoch, {at}, was kept: a longer training might do better."
    )
    return (
        Chart(
            "accuracy-curve",
            "Validation accuracy while training",
            finding,
            Figure("", (Panel("", "epoch", "accuracy (%)", tuple(reached)),)),
            height=300,
        ),
        Chart(
            "loss-curve",
            "Loss while training",
            _loss_finding(record.history),
            Figure("", (Panel("", "epoch", "cross-entropy", tuple(losses)),)),
            height=300,
        ),
    )


def _loss_finding(history: list[dict[str, Any]]) -> str:
    width = max(1, len(history) // 10)
    val, train = ([entry[key] for entry in history] for key in ("val_loss", "train_loss"))
    means = [sum(val[at : at + width]) / width for at in range(len(val) - width + 1)]
    last, gap = means[-1], means[-1] - sum(train[-width:]) / width
    if last > max(1.2 * min(means), min(means) + 0.1):
        return "Validation loss rises towards the end: the model begins to learn by heart."
    if gap > 0.5 * last:
        return (
            f"At the end validation loss is {gap:.2f} above training loss: the training nodes are "
            "known much better than others."
        )
    return "Training and validation loss fall together."


def _mark(epoch: int, low: float, high: float) -> Lines:
    place = (float(epoch), float(epoch))
    return Lines("chosen epoch", place, (low, high), markers=False, dashed=True, colour=_GREY)


def _share(entry: dict[str, Any]) -> float:
    return 100 * float(entry["val_accuracy"])


def _settings(config: dict[str, Any]) -> Facts:
    usual = Config().to_dict()
    pairs = []
    for section, values in config.items():
        for key, value in values.items():
            mark = "" if usual.get(section, {}).get(key) == value else " (changed)"
            pairs.append((f"{section}.{key}", f"{_text(value)}{mark}"))
    return Facts(tuple(pairs), "All settings; those that differ from the defaults are marked", True)


def _environment(environment: dict[str, Any]) -> Facts:
    pairs = []
    for key, value in environment.items():
        if isinstance(value, dict):
            pairs += [(name, str(entry)) for name, entry in value.items()]
        else:
            pairs.append((key.replace("_", " "), str(value)))
    return Facts(tuple(pairs), "Versions and machine", folded=True)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "auto" if value is None else str(value)
