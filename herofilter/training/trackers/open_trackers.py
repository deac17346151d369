"""The trackers that a command was asked to log to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from herofilter.callbacks import Event
from herofilter.errors import ConfigError, did_you_mean
from herofilter.training.trackers.mlflow_tracker import MLflowTracker
from herofilter.training.trackers.tensorboard_tracker import DEFAULT_FOLDER, TensorBoardTracker
from herofilter.training.trackers.tracker import Tracker

TRACKERS = ("mlflow", "tensorboard")


class Trackers:
    """Several trackers as one callback; none at all does nothing.

    Args:
        trackers: each of them takes all events.
    """

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        self.trackers = tuple(trackers)

    def __call__(self, event: Event) -> None:
        for tracker in self.trackers:
            tracker(event)

    def begin(self, about: Mapping[str, Any]) -> None:
        """See :meth:`Tracker.begin`."""
        for tracker in self.trackers:
            tracker.begin(about)

    def finish(self, results: Mapping[str, Any], paths: Mapping[str, Path | str]) -> None:
        """See :meth:`Tracker.finish`."""
        for tracker in self.trackers:
            tracker.finish(results, paths)


@contextmanager
def open_trackers(wanted: Sequence[str], name: str) -> Iterator[Trackers]:
    """Open the trackers that options such as ``mlflow:URI`` name, and close them afterwards.

    Args:
        wanted: each is ``mlflow`` or ``tensorboard``, perhaps with ``:`` and its store.
        name: of the run.
    """
    check_trackers(wanted)
    with ExitStack() as stack:
        yield Trackers([stack.enter_context(_open(one, name)) for one in wanted])


def check_trackers(wanted: Sequence[str]) -> None:
    """Raise a :class:`ConfigError` unless every name is that of a tracker."""
    for one in wanted:
        kind = one.partition(":")[0]
        if kind not in TRACKERS:
            raise ConfigError(
                "log must be mlflow, mlflow:URI, tensorboard or tensorboard:DIR "
                f"(got {one!r}){did_you_mean(kind, TRACKERS)}"
            )


def _open(wanted: str, name: str) -> Tracker:
    kind, _, store = wanted.partition(":")
    if kind == "mlflow":
        return MLflowTracker(store or None, name)
    return TensorBoardTracker(Path(store) if store else DEFAULT_FOLDER, name)
