"""The base of trackers: events of trainings and searches as runs with settings and metrics."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from herofilter.callbacks import SETTING, Event, Value

# what an event's metrics belong to
_PLACES = ("split",)
_PLAIN = (int, float, str)


class TrackerWarning(UserWarning):
    """A tracker has failed; the work goes on without it."""


class Tracker(ABC):
    """A callback that tells an experiment tracker what happens.

    It is opened before the work begins: a store that can't be used is an error then. One that
    fails later gives a single warning and hears nothing more, since a training is worth more than
    its log. Each split, member of a portfolio, or trial is a part of the run with metrics of its
    own; the run itself has the settings, the results and the paths of what was written.

    A subclass opens its store in the constructor and overrides the five methods at the end.

    Example:
        >>> class Printed(Tracker):
        ...     def log_settings(self, part, settings): print(part, settings)
        ...     def log_metrics(self, part, metrics, step): print(part, metrics, step)
        ...     def log_texts(self, part, texts): print(part, texts)
        ...     def end_part(self, part): print("end of", part)
        ...     def end(self, state): print(state)
        >>> with Printed() as tracker:
        ...     tracker(Event("epoch", 3, values={"val_accuracy": 0.75, "split": 0}))
        split 0 {'val_accuracy': 0.75} 3
        finished
    """

    def __init__(self) -> None:
        self._failed = False
        self._attempt = ""

    def __call__(self, event: Event) -> None:
        """Take an event of a training or a search."""
        self._guarded(lambda: self._take(event))

    def begin(self, about: Mapping[str, Any]) -> None:
        """Take what is known before the work: the graph, the model, the resolved settings."""
        self._guarded(lambda: self.log_settings("", flat(about)))

    def finish(self, results: Mapping[str, Any], paths: Mapping[str, Path | str]) -> None:
        """Take the final metrics, and the paths of what was written."""
        self._guarded(lambda: self.log_metrics("", numbers(flat(results)), None))
        shown = {f"path.{name}": str(path) for name, path in paths.items()}
        self._guarded(lambda: self.log_texts("", shown))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        state = "stopped" if stopped else "failed" if kind is not None else "finished"
        self._guarded(lambda: self.end(state))

    def _take(self, event: Event) -> None:
        part = self._part(event)
        if event.stage == "attempt":
            self._attempt = part
        elif event.stage == "epoch":
            self.log_metrics(part, numbers(_metrics(event)), event.done)
        elif event.stage in ("split", "member", "trial"):
            settings = {
                key.removeprefix(SETTING): value
                for key, value in event.values.items()
                if key.startswith(SETTING)
            }
            if settings:
                self.log_settings(part, settings)
            # beside the curves over epochs, which have the same names
            found = {f"final_{key}": value for key, value in numbers(_metrics(event)).items()}
            self.log_metrics(part, found, None)
            texts = {key: value for key, value in _metrics(event).items() if isinstance(value, str)}
            self.log_texts(part, {key: value for key, value in texts.items() if value})
            self.end_part(part)

    def _part(self, event: Event) -> str:
        """Return what an event belongs to, in words."""
        split = event.values.get("split")
        where = "" if split is None else f"split {int(event.number('split'))}"
        if event.stage == "attempt":
            return f"{event.name}, training {event.done + 1}"
        if event.stage == "trial":
            return self._attempt or f"trial {event.done}"
        if event.stage == "member":
            return f"{where}, {event.name}" if where else event.name
        member = event.values.get("member")
        return f"{where}, {member}" if member and where else str(member or where or self._attempt)

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            work()
        except Exception as error:
            self._failed = True
            warnings.warn(
                f"{type(self).__name__} has failed ({str(error).partition(chr(10))[0][:200]}); "
                "the work goes on without it",
                TrackerWarning,
                stacklevel=3,
            )

    @abstractmethod
    def log_settings(self, part: str, settings: Mapping[str, Value]) -> None:
        """Store settings of a part, or of the run where ``part`` is empty."""

    @abstractmethod
    def log_metrics(self, part: str, metrics: Mapping[str, float], step: int | None) -> None:
        """Store metrics of a part after an epoch, or its last ones where ``step`` is None."""

    @abstractmethod
    def log_texts(self, part: str, texts: Mapping[str, str]) -> None:
        """Store words about a part, such as paths."""

    @abstractmethod
    def end_part(self, part: str) -> None:
        """Note that a part is complete."""

    @abstractmethod
    def end(self, state: str) -> None:
        """Close the store; ``state`` is ``finished``, ``stopped`` or ``failed``."""


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Value]:
    """Return nested values by dotted names; lists of plain values become one text.

    Example:
        >>> flat({"config": {"train": {"lr": 0.01}, "filters": ["low", "hop2"]}, "seed": True})
        {'config.train.lr': 0.01, 'config.filters': 'low,hop2', 'seed': 'true'}
    """
    found: dict[str, Value] = {}
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif isinstance(value, bool):
            found[name] = str(value).lower()
        elif value is None or isinstance(value, _PLAIN):
            found[name] = value
        elif isinstance(value, list | tuple) and all(isinstance(one, _PLAIN) for one in value):
            found[name] = ",".join(map(str, value))
    return found


def numbers(values: Mapping[str, Value]) -> dict[str, float]:
    """Return the values that are finite numbers.

    Example:
        >>> numbers({"loss": 0.5, "state": "completed", "auc": None, "bad": float("nan")})
        {'loss': 0.5}
    """
    return {
        key: float(value)
        for key, value in values.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def _metrics(event: Event) -> dict[str, Value]:
    return {
        key: value
        for key, value in event.values.items()
        if key not in _PLACES and not key.startswith(SETTING)
    }
