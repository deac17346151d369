"""Trainings and searches in MLflow's and TensorBoard's own stores, read back."""

import importlib.util
import math
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from herofilter.callbacks import Event, Value, together
from herofilter.errors import ConfigError, MissingExtraError, RunError
from herofilter.training import train_splits
from herofilter.training.search.fitting import fit_graph, with_split
from herofilter.training.trackers.mlflow_tracker import EXPERIMENT, MLflowTracker
from herofilter.training.trackers.open_trackers import check_trackers, open_trackers
from herofilter.training.trackers.tensorboard_tracker import TensorBoardTracker
from herofilter.training.trackers.tracker import Tracker, TrackerWarning
from tests.cli.test_cli import Cli, cli as cli
from tests.training.graphs import SMALL, graph, table_graph

has_mlflow = pytest.mark.skipif(not importlib.util.find_spec("mlflow"), reason="needs mlflow")
has_tensorboard = pytest.mark.skipif(
    not importlib.util.find_spec("tensorboard"), reason="needs tensorboard"
)


class Noted(Tracker):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.settings: list[tuple[str, dict[str, Value]]] = []
        self.metrics: list[tuple[str, dict[str, float], int | None]] = []
        self.texts: list[tuple[str, dict[str, str]]] = []
        self.ended: list[str] = []

    def log_settings(self, part: str, settings: Mapping[str, Value]) -> None:
        self.settings.append((part, dict(settings)))

    def log_metrics(self, part: str, metrics: Mapping[str, float], step: int | None) -> None:
        self.metrics.append((part, dict(metrics), step))

    def log_texts(self, part: str, texts: Mapping[str, str]) -> None:
        self.texts.append((part, dict(texts)))

    def end_part(self, part: str) -> None:
        self.ended.append(part)

    def end(self, state: str) -> None:
        self.ended.append(state)


class Broken(Noted):
    """Fails at its second epoch."""

    def log_metrics(self, part: str, metrics: Mapping[str, float], step: int | None) -> None:
        super().log_metrics(part, metrics, step)
        if step == 2:
            raise OSError("the store is gone")


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return {
        tag: [(entry.step, entry.value) for entry in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }


def runs_of(uri: str) -> dict[str, Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}


def test_every_epoch_of_every_split_and_the_results() -> None:
    with Noted() as tracker:
        tracker.begin({"graph": "small", **SMALL.to_dict()})
        summary = train_splits(graph(), "mlp", SMALL, [0, 2], callback=tracker)
        tracker.finish({"test_accuracy": summary["test_accuracy"]}, {"run": Path("here")})
    ((part, settings),) = tracker.settings
    assert (part, settings["graph"], settings["train.epochs"]) == ("", "small", SMALL.train.epochs)
    epochs = [(part, step) for part, _, step in tracker.metrics if step is not None]
    count = SMALL.train.epochs
    assert epochs == [(f"split {s}", e + 1) for s in (0, 2) for e in range(count)]
    finals = {part: found for part, found, step in tracker.metrics if step is None}
    assert set(finals["split 0"]) == {"final_val_accuracy", "final_test_accuracy"}
    assert finals[""]["test_accuracy.mean"] == summary["test_accuracy"]["mean"]
    assert ("", {"path.run": "here"}) in tracker.texts
    assert tracker.ended == ["split 0", "split 2", "finished"]


def test_every_training_of_a_fit_with_its_hyperparameters() -> None:
    tracker, seen = Noted(), list[Event]()
    fit_graph(
        with_split(table_graph(graph()), 0),
        600.0,
        ("epochs=3", "patch_size=4"),
        trials=2,
        model="mlp",
        callback=together(tracker, seen.append),
    )
    trained = [part for part in tracker.ended if part.startswith("MLP")]
    assert trained == ["MLP, training 1", "MLP, training 2"]
    proposed = dict(tracker.settings)["MLP, training 2"]
    assert "lr" in proposed
    assert any(part == trained[0] and step == 3 for part, _, step in tracker.metrics)
    assert {event.stage for event in seen} == {"attempt", "epoch", "trial"}


def test_a_tracker_that_fails_is_left_alone_and_the_training_goes_on() -> None:
    tracker = Broken()
    with pytest.warns(TrackerWarning, match="the store is gone.*goes on without it") as warned:
        summary = train_splits(graph(), "mlp", SMALL, [0], callback=tracker)
    assert len(warned) == 1
    assert [step for _, _, step in tracker.metrics] == [1, 2]
    assert not math.isnan(summary["test_accuracy"]["mean"])


def test_an_error_of_the_work_ends_the_run_as_failed() -> None:
    tracker = Noted()
    with pytest.raises(ZeroDivisionError), tracker:
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt), tracker:
        raise KeyboardInterrupt
    assert tracker.ended == ["failed", "stopped"]


@has_mlflow
def test_mlflow_has_a_run_with_a_nested_one_for_each_split(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/runs.db"
    with MLflowTracker(uri, "mine") as tracker:
        tracker.begin({"graph": "small", **SMALL.to_dict()})
        train_splits(graph(), "mlp", SMALL, [0, 1], callback=tracker)
        tracker.finish({"test_accuracy": {"mean": 0.5}}, {"run": tmp_path})
    runs = runs_of(uri)
    assert set(runs) == {"mine", "split 0", "split 1"}
    mine, split = runs["mine"], runs["split 0"]
    assert mine.data.params["train.epochs"] == str(SMALL.train.epochs)
    assert mine.data.params["train.weight_decay"] == "auto"
    assert mine.data.metrics == {"test_accuracy.mean": 0.5}
    assert mine.data.tags["path.run"] == str(tmp_path)
    assert split.data.tags["mlflow.parentRunId"] == mine.info.run_id
    assert {"train_loss", "val_loss", "val_accuracy", "final_test_accuracy"} <= set(
        split.data.metrics
    )
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    with pytest.raises(KeyboardInterrupt), MLflowTracker(uri, "second"):
        raise KeyboardInterrupt
    assert runs_of(uri)["second"].info.status == "KILLED"


@has_mlflow
@pytest.mark.parametrize("kind", ["server", "file"])
def test_an_mlflow_store_that_cannot_be_used_is_a_sentence(kind: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        # bound but not listening: connections are refused at once
        taken.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{taken.getsockname()[1]}"
        if kind == "file":
            (tmp_path / "file").write_text("no folder")
            uri = f"sqlite:///{tmp_path}/file/runs.db"
        with pytest.raises(RunError, match=r"the MLflow store .* must be one that can be written"):
            MLflowTracker(uri)


@has_tensorboard
def test_tensorboard_has_a_curve_for_each_split(tmp_path: Path) -> None:
    with TensorBoardTracker(tmp_path, "mine") as tracker:
        tracker.begin({"graph": "small", **SMALL.to_dict()})
        train_splits(graph(), "mlp", SMALL, [0, 1], callback=tracker)
        tracker.finish({"test_accuracy": {"mean": 0.5}}, {"run": tmp_path})
    curve = scalars(tmp_path / "mine" / "split 1")["val_accuracy"]
    assert [step for step, _ in curve] == list(range(1, SMALL.train.epochs + 1))
    assert scalars(tmp_path / "mine")["test_accuracy.mean"] == [(0, 0.5)]
    assert TensorBoardTracker(tmp_path, "mine").folder == tmp_path / "mine-2"


@has_tensorboard
def test_tensorboard_has_hyperparameters_beside_the_result_of_a_trial(tmp_path: Path) -> None:
    with TensorBoardTracker(tmp_path, "search") as tracker:
        values: dict[str, Value] = {"val_accuracy": 0.75, "state": "completed", "set.lr": 0.01}
        tracker(Event("trial", 1, 2, "gcn", values))
    found = scalars(tmp_path / "search" / "trial 1")
    assert found["final_val_accuracy"] == [(0, 0.75)]


@pytest.mark.parametrize(
    ("name", "make"), [("mlflow", MLflowTracker), ("tensorboard", TensorBoardTracker)]
)
def test_a_missing_package_is_named_with_its_cure(
    name: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=rf'pip install "herofilter\[{name}\]"'):
        make()


def test_an_unknown_tracker_is_refused() -> None:
    with pytest.raises(ConfigError) as error:
        check_trackers(["mlflw:here"])
    assert str(error.value) == (
        "log must be mlflow, mlflow:URI, tensorboard or tensorboard:DIR (got 'mlflw:here') "
        "(did you mean 'mlflow'?)"
    )
    with open_trackers([], "none") as trackers:
        trackers(Event("epoch", 1))


@has_mlflow
@has_tensorboard
def test_train_logs_to_both_beside_its_own_output(cli: Cli, tmp_path: Path) -> None:
    options = ("--set", "epochs=4", "--no-report", "--splits", "0,1", "--out", "run")
    logs = ("--log", f"mlflow:sqlite:///{tmp_path}/runs.db", "--log", "tensorboard:curves")
    outcome = cli("train", "csbm", "--model", "mlp", *options, *logs)
    assert outcome.code == 0, outcome.err
    assert "test accuracy" in outcome.out
    assert set(runs_of(f"sqlite:///{tmp_path}/runs.db")) == {"run", "split 0", "split 1"}
    assert len(scalars(Path("curves/run/split 0"))["train_loss"]) == 4


@has_tensorboard
def test_tune_logs_its_trials(cli: Cli) -> None:
    options = ("--trials", "2", "--splits", "0", "--set", "epochs=3", "--model", "mlp")
    outcome = cli("tune", "karate", *options, "--out", "search", "--log", "tensorboard:curves")
    assert outcome.code == 0, outcome.err
    assert "final_val_accuracy" in scalars(Path("curves/search/trial 2"))


def test_a_store_that_cannot_be_reached_stops_the_command_before_it_works(cli: Cli) -> None:
    pytest.importorskip("mlflow")
    outcome = cli("train", "karate", "--out", "run", "--log", "mlflow:http://127.0.0.1:9")
    assert outcome.code == 2
    assert "the MLflow store http://127.0.0.1:9 must be one that can be written" in outcome.err
    assert not list(Path("run").glob("splits*"))
