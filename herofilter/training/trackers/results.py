"""What is told to trackers at the end of a command."""

from collections.abc import Mapping
from typing import Any

from herofilter.training.artifacts.model_folder import SavedModel

_SPREADS = ("mean", "std")


def measured(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a run's or a search's summary: means over splits, and counts.

    Example:
        >>> accuracy = {"mean": 0.8, "std": 0.1, "values": [0.7, 0.9]}
        >>> measured({"test_accuracy": accuracy, "seconds": 2})
        {'test_accuracy': {'mean': 0.8, 'std': 0.1}, 'seconds': 2}
    """
    found: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, Mapping) and "mean" in value:
            found[key] = {name: value[name] for name in _SPREADS if name in value}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[key] = value
    return found


def of_fit(saved: SavedModel) -> dict[str, Any]:
    """Return what was measured of the model that a fit kept."""
    kept = saved.metrics["models"][saved.metrics["kept"]]
    parts = {part: _plain(kept[part]) for part in ("validation", "test")}
    return {**parts, "temperature": saved.temperature, "seconds": saved.metrics["seconds"]}


def _plain(scores: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scores.items() if isinstance(value, int | float)}
