"""Progress bars that show the events of a callback on the error stream."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from herofilter.callbacks import Event
from herofilter.report.terminal import Console


def stderr_progress() -> Progress:
    """Return rich's progress on the error stream; it is silent when that isn't a terminal."""
    console = Console(stderr=True)
    # before rich 14.3 a bar that is disabled ends with an empty line
    console.quiet = not console.is_terminal
    columns = (
        # names of graphs are foreign texts
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


class ProgressBar:
    """A callback that shows how many of how many are done, and the name of the last event.

    Args:
        title: what is shown before the first event.
        total: the length of the bar until an event has another total.
        progress: rich's progress; on the error stream by default.
    """

    def __init__(self, title: str, total: float = 1, progress: Progress | None = None) -> None:
        self.progress = stderr_progress() if progress is None else progress
        self.task = self.progress.add_task(title, total=total)

    def __call__(self, event: Event) -> None:
        """Show an event; one without a name leaves the text as it is."""
        description = event.name or None
        self.progress.update(
            self.task, completed=event.done, total=event.total, description=description
        )

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.progress.stop()


class TrainBar(ProgressBar):
    """A bar for a training of several splits, moved by epochs and by finished splits."""

    def __init__(
        self, graph: str, splits: Sequence[int], epochs: int, progress: Progress | None = None
    ) -> None:
        super().__init__(f"{graph}: preparing", len(splits) * epochs, progress)
        self.splits, self.epochs = splits, epochs
        self.split, self.after = -1, ""

    def __call__(self, event: Event) -> None:
        if event.stage == "member":
            self.after = f", after {event.name}"
        elif event.stage == "split":
            self.progress.update(
                self.task,
                completed=event.done * self.epochs,
                description=f"{event.done} of {len(self.splits)} splits",
            )
        elif event.stage == "epoch":
            split = int(event.number("split"))
            if split != self.split:
                self.split, self.after = split, ""
            accuracy = 100 * event.number("val_accuracy")
            self.progress.update(
                self.task,
                completed=self.splits.index(split) * self.epochs + event.done,
                description=f"split {split}{self.after}: validation {accuracy:.1f} %",
            )


class TuneBar(ProgressBar):
    """A bar for a search, moved by trials where their number is given, else by time."""

    def __init__(
        self, budget: float, trials: int | None = None, progress: Progress | None = None
    ) -> None:
        super().__init__("tuning", trials or budget, progress)
        self.budget, self.trials = budget, trials

    def __call__(self, event: Event) -> None:
        seconds = event.number("seconds")
        left = max(0.0, self.budget - seconds) / 60
        self.progress.update(
            self.task,
            completed=event.done if self.trials else min(seconds, self.budget),
            description=f"{_trials(event)}, {left:.0f} min left",
        )


class FitBar(ProgressBar):
    """A bar for contenders under one time budget; through a pipe a line for each training.

    Args:
        budget: seconds.
        elapsed: seconds that have passed already.
        progress: rich's progress; on the error stream by default.
        lines: whether to print a line per training; by default where there is no terminal.
    """

    def __init__(
        self,
        budget: float,
        elapsed: float = 0.0,
        progress: Progress | None = None,
        lines: bool | None = None,
    ) -> None:
        super().__init__("preparing", budget, progress)
        self.budget, self.started = budget, time.perf_counter() - elapsed
        self.lines = not self.progress.console.is_terminal if lines is None else lines
        self.under_way = ""

    def __call__(self, event: Event) -> None:
        elapsed = time.perf_counter() - self.started
        text = None
        if event.stage == "attempt":
            number = f", training {event.done + 1}" if event.done else ""
            text = self.under_way = f"{event.name}{number}"
        elif event.stage == "epoch":
            accuracy = 100 * event.number("val_accuracy")
            text = f"{self.under_way}: epoch {event.done}, validation {accuracy:.1f} %"
        elif event.stage == "trial" and self.lines:
            line = f"{event.name}: {_outcome(event)}"
            passed = f"{elapsed:.0f} of {self.budget:.0f} s"
            print(f"{line} ({passed})", file=sys.stderr, flush=True)
        self.progress.update(self.task, completed=min(elapsed, self.budget), description=text)


def _outcome(event: Event) -> str:
    state = str(event.values["state"] or "")
    if event.values["score"] is None:
        return state
    parts = [f"validation {100 * event.number('score'):.1f} %", state]
    return ", ".join([*filter(None, parts), f"{event.number('took'):.0f} s"])


def _trials(event: Event) -> str:
    best = event.values["best"]
    text = "none yet" if best is None else f"{100 * event.number('best'):.1f} %"
    return f"{event.done} trials, best validation {text}"
