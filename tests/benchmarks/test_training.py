"""The benchmark of training on 34 nodes: every model has a row, and ratios are within a round."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import training
from benchmarks.training import MODELS, main, markdown_table, run_training, training_table
from benchmarks.training_work import measure_training, training_config
from herofilter.errors import ConfigError
from herofilter.reproduce.speed.child import Outcome
from tests.benchmarks.here import here


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the variable that the measured work changes, since it runs in this process here."""
    monkeypatch.setenv("HEROFILTER_CACHE", os.environ["HEROFILTER_CACHE"])


def test_every_model_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "run_child", here)
    result = run_training(["karate"], repeats=2, epochs=3)
    rows = result["graphs"]["karate"]
    assert [row["model"] for row in rows] == list(MODELS)
    for row in rows:
        assert (row["why"], row["epochs"], row["repeats"]) == (None, 3, 2)
        assert 0 < row["seconds_per_epoch"] < row["seconds"]
        assert 0 < row["precompute_seconds"] < row["seconds"]
        assert row["peak_mib"] >= row["peak_mib_before"] > 50
    gcn = rows[MODELS.index("gcn")]
    assert (gcn["ratio"], gcn["epoch_ratio"], gcn["memory_ratio"]) == (1, 1, 1)
    assert all(row["ratio"] > 0 for row in rows)
    run = result["runs"]["karate"]
    assert run["command"] == "python -m benchmarks.training --graphs karate --repeats 2 --epochs 3"
    assert (run["threads"], run["config"]["train"]["patience"]) == (1, 3)


def test_models_stop_as_they_do_by_default() -> None:
    assert training_config().train.patience is None
    found = measure_training("karate", "mlp")
    assert 50 < found["epochs"] < 500


def test_models_take_turns_and_ratios_are_those_of_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    # the second round is ten times as slow for both
    seconds = iter([1.0, 3.0, 10.0, 20.0, 1.0, 4.0])

    def stand_in(work: Any, graph: str, model: str, epochs: Any, **limits: Any) -> Outcome:
        assert limits["threads"] == 1
        asked.append(model)
        took = next(seconds)
        return Outcome({"seconds": took, "epochs": 5, "seconds_per_epoch": took, "peak_mib": 7.0})

    monkeypatch.setattr(training, "run_child", stand_in)
    gcn, mlp = run_training(["karate"], ["gcn", "mlp"])["graphs"]["karate"]
    assert asked == ["gcn", "mlp"] * 3
    assert (gcn["seconds"], mlp["seconds"]) == (1.0, 4.0)
    assert (mlp["ratio"], mlp["epoch_ratio"], mlp["memory_ratio"]) == (3.0, 3.0, 1.0)


def test_a_model_that_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: Any, graph: str, model: str, *rest: Any, **limits: Any) -> Outcome:
        return Outcome(why="took longer") if model == "gcn" else here(work, graph, model, *rest)

    monkeypatch.setattr(training, "run_child", refuse)
    rows = run_training(["karate"], ["gcn", "mlp"], repeats=1, epochs=1)["graphs"]["karate"]
    assert rows[0] == {"model": "gcn", "why": "took longer"}
    # there is nothing to compare with
    assert rows[1]["ratio"] is None
    console = Console(width=160)
    with console.capture() as shown:
        console.print(training_table("karate", rows))
    assert "took longer" in shown.get()
    lines = markdown_table(rows).splitlines()
    assert lines[2] == "| gcn | took longer |  |  |  |  |  |  |"
    assert len({line.count("|") for line in lines}) == 1
    with pytest.raises(ConfigError, match="repeats must be at least 1"):
        run_training(["karate"], repeats=0)


def test_graphs_that_were_measured_earlier_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "RESULT", tmp_path / "training.json")
    monkeypatch.setattr(training, "run_child", here)
    (tmp_path / "training.json").write_text('{"runs": {"old": {}}, "graphs": {"old": []}}')
    common = ["--graphs", "karate", "--models", "mlp", "--repeats", "1", "--epochs", "1"]
    main([*common, "--write", "--json"])
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "training.json").read_text())
    assert list(written["graphs"]) == ["old", "karate"]
    assert written["graphs"]["karate"] == printed["graphs"]["karate"]
