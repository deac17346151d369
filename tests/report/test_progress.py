"""Progress bars that show the events of a callback."""

import pytest
from rich.progress import Progress

from herofilter.callbacks import Event
from herofilter.report import progress as module
from herofilter.report.progress import FitBar, ProgressBar, TrainBar, TuneBar


def shown(bar: ProgressBar) -> tuple[str, float, float | None]:
    (task,) = bar.progress.tasks
    return task.description, task.completed, task.total


def silent() -> Progress:
    return Progress(disable=True)


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_only_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    else:
        monkeypatch.delenv("FORCE_COLOR", raising=False)
    with ProgressBar("baking") as bar:
        bar(Event("rows", 2, 2))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("baking" in captured.err) is terminal
    assert terminal or captured.err == ""


def test_jobs_are_shown_by_name_and_rows_by_number() -> None:
    bar = ProgressBar("demo", progress=silent())
    assert shown(bar) == ("demo", 0, 1)
    bar(Event("rows", 3, 10))
    assert shown(bar) == ("demo", 3, 10)
    bar(Event("job", 4, 10, "gcn on karate"))
    assert shown(bar) == ("gcn on karate", 4, 10)


def epoch(split: int, done: int, accuracy: float) -> Event:
    return Event("epoch", done, 10, values={"split": split, "val_accuracy": accuracy})


def test_training_by_epochs() -> None:
    bar = TrainBar("texas", [3, 5], 10, silent())
    assert shown(bar) == ("texas: preparing", 0, 20)
    bar(epoch(3, 1, 0.5))
    assert shown(bar) == ("split 3: validation 50.0 %", 1, 20)
    # it stopped early, and the bar goes on from the start of the next split
    bar(Event("split", 1, 2, "split 3"))
    assert shown(bar) == ("1 of 2 splits", 10, 20)
    bar(epoch(5, 5, 0.6251))
    assert shown(bar) == ("split 5: validation 62.5 %", 15, 20)
    bar(Event("split", 2, 2, "split 5"))
    assert shown(bar) == ("2 of 2 splits", 20, 20)


def test_training_by_splits_in_any_order() -> None:
    bar = TrainBar("texas", [0, 1, 2], 10, silent())
    for split, done in ((2, 1), (0, 2), (1, 3)):
        bar(Event("split", done, 3, f"split {split}"))
        assert shown(bar) == (f"{done} of 3 splits", 10 * done, 30)


def test_training_of_a_portfolio() -> None:
    bar = TrainBar("texas", [0, 1], 10, silent())
    bar(epoch(0, 10, 0.5))
    assert shown(bar) == ("split 0: validation 50.0 %", 10, 20)
    for accuracy in (0.5, None):
        bar(Event("member", 1, 2, "balanced", {"split": 0, "val_accuracy": accuracy}))
        bar(epoch(0, 2, 0.25))
        assert shown(bar) == ("split 0, after balanced: validation 25.0 %", 2, 20)
    bar(epoch(1, 1, 0.25))
    assert shown(bar) == ("split 1: validation 25.0 %", 11, 20)


def test_training_is_silent_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with TrainBar("texas", [0, 1], 10) as bar:
        bar(Event("split", 1, 2, "split 0"))
        assert shown(bar) == ("1 of 2 splits", 10, 20)
    assert capsys.readouterr() == ("", "")


def trial(done: int, seconds: float, best: float | None) -> Event:
    return Event("trial", done, None, "mlp", {"best": best, "seconds": seconds})


def test_a_search_by_time_and_by_trials() -> None:
    bar = TuneBar(600.0, progress=silent())
    bar(trial(1, 120.0, None))
    assert shown(bar) == ("1 trials, best validation none yet, 8 min left", 120, 600)
    bar(trial(2, 700.0, 0.8125))
    assert shown(bar) == ("2 trials, best validation 81.2 %, 0 min left", 600, 600)
    bar = TuneBar(600.0, 5, silent())
    bar(trial(2, 300.0, 0.5))
    assert shown(bar) == ("2 trials, best validation 50.0 %, 5 min left", 2, 5)


def test_a_fit_names_the_phase_the_epoch_and_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 15.0, 40.0, 900.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(times))
    bar = FitBar(300.0, 2.0, silent(), lines=False)
    bar(Event("attempt", 1, name="GCN"))
    assert shown(bar) == ("GCN, training 2", 7, 300)
    bar(Event("epoch", 12, values={"val_accuracy": 0.75}))
    assert shown(bar) == ("GCN, training 2: epoch 12, validation 75.0 %", 32, 300)
    bar(Event("epoch", 13, values={"val_accuracy": 0.76}))
    assert shown(bar)[1:] == (300, 300)


def test_through_a_pipe_a_fit_has_a_line_per_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module.time, "perf_counter", lambda: 20.0)
    bar = FitBar(300.0, 12.0, silent())
    for score, state in ((0.5, ""), (0.25, "stopped by the clock"), (None, "not enough time")):
        values = {"score": score, "state": state, "took": 4.0}
        bar(Event("trial", 1, name="GCN", values=values))
    assert capsys.readouterr().err.splitlines() == [
        "GCN: validation 50.0 %, 4 s (12 of 300 s)",
        "GCN: validation 25.0 %, stopped by the clock, 4 s (12 of 300 s)",
        "GCN: not enough time (12 of 300 s)",
    ]
