"""The metrics of a split, and their spread over splits."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from herofilter.training.loop import TrainResult

MORE_MEASURES = ("balanced_accuracy", "macro_f1", "auc", "average_precision", "calibration_error")
RANKING_MEASURES = ("test_auc", "test_average_precision", "val_auc")


def split_metrics(result: TrainResult, seconds: float) -> dict[str, Any]:
    """Return one split's metrics, ready for JSON; ``seconds`` counts patches and training."""
    return {
        "test_accuracy": result.test.accuracy,
        "test_loss": result.test.loss,
        "val_accuracy": result.val.accuracy,
        "val_loss": result.val.loss,
        "val_auc": result.val.auc,
        "train_accuracy": result.train.accuracy,
        "best_epoch": result.best_epoch,
        "epochs": len(result.history),
        "seconds": seconds,
        "interrupted": result.interrupted,
        **{f"test_{name}": result.report.get(name) for name in MORE_MEASURES},
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation (0 for one value) and the values.

    Example:
        >>> spread([0.5, 0.7])["mean"]
        0.6
    """
    std = statistics.stdev(values) if len(values) > 1 else 0.0
    mean = statistics.fmean(values) if values else float("nan")
    return {"mean": mean, "std": std, "values": list(values)}


def ranking_spreads(metrics: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any] | None]:
    """Return ``test_auc``, ``test_average_precision`` and ``val_auc`` over splits.

    Each has ``mean``, ``std`` and ``values``, or is None where a split lacks it.
    """
    found: dict[str, dict[str, Any] | None] = {}
    for name in RANKING_MEASURES:
        values = [entry.get(name) for entry in metrics]
        known = [value for value in values if value is not None]
        found[name] = spread(known) if known and len(known) == len(values) else None
    return found
