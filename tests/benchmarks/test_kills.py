"""Trainings that are killed: what the command compares, and that it would see a difference."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import kills
from benchmarks.kills import fingerprint, main, run_kills
from herofilter.files import save_tensors

SETTINGS = ("--patcher", "fast", "--set", "epochs=3", "--workers", "1")


@pytest.mark.slow
def test_a_killed_training_ends_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    # too early for anything but the imports: moments in the work are those of tests/training
    at_once = (0.3, 0.4)
    result = run_kills("karate", SETTINGS, kills=2, early=at_once, late=at_once)
    assert result["same"]
    assert (result["kills"], result["killed_while"]) == (2, {"starting": 2})
    assert len(result["killed"]["weights"]) == 64
    assert "seconds" not in result["killed"]["metrics"]
    assert "killed for the 2. time" in capsys.readouterr().err


def test_another_result_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer: dict[str, Any] = {"kills": 2, "killed_while": {"training": 2}, "same": False}
    monkeypatch.setattr(kills, "run_kills", lambda *words: answer)
    with pytest.raises(SystemExit) as end:
        main(["--graph", "karate"])
    assert end.value.code == 1
    assert capsys.readouterr().out == "2 kills (2 while training): ANOTHER RESULT\n"


@pytest.mark.slow
def test_a_training_that_fails_is_no_result() -> None:
    with pytest.raises(SystemExit, match="must end by itself"):
        run_kills("karate", ("--set", "epochs=none"), kills=0)


@pytest.mark.parametrize("name", ["history.json", "weights.safetensors", "metrics.json"])
def test_every_file_counts(tmp_path: Path, name: str) -> None:

    def write(folder: Path, value: float) -> None:
        split = folder / "run" / "split-0"
        split.mkdir(parents=True)
        values = {key: value if key == name else 0.0 for key in ("history.json", "metrics.json")}
        metrics = {"seconds": value, "splits": {"0": {"seconds": 2.0 * value}}}
        metrics["test"] = values["metrics.json"]
        (folder / "run" / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
        text = json.dumps([values["history.json"]])
        (split / "history.json").write_text(text, encoding="utf-8")
        weight = torch.full((2,), value if name == "weights.safetensors" else 0.0)
        save_tensors(split / "weights.safetensors", {"w": weight}, {})

    write(tmp_path / "a", 1.0)
    write(tmp_path / "b", 2.0)
    assert fingerprint(tmp_path / "a") != fingerprint(tmp_path / "b")
    assert fingerprint(tmp_path / "a") == fingerprint(tmp_path / "a")
