"""The compiled loops are compared with torch, and measured."""

import json
from pathlib import Path

import pytest

from benchmarks import kernels
from benchmarks.kernels import main, run_kernels


def test_the_command_writes_ratios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = run_kernels("karate", nodes=5, rounds=2)
    assert len(small["rows"]) == len(kernels.COLUMNS) + len(kernels.MIXERS)
    for row in small["rows"]:
        assert row["ratio"] == pytest.approx(row["torch_seconds"] / row["seconds"])
    monkeypatch.setattr(kernels, "run_kernels", lambda: small)
    monkeypatch.setattr(kernels, "RESULT", tmp_path / "kernels.json")
    main(["--json", "--write"])
    assert json.loads(capsys.readouterr().out) == small
    assert json.loads((tmp_path / "kernels.json").read_text(encoding="utf-8")) == small
    main([])
    assert "times as fast" in capsys.readouterr().out


def test_a_wrong_loop_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "multiply_sparse", lambda matrix, dense: matrix @ dense + 1)
    with pytest.raises(AssertionError):
        run_kernels("karate", nodes=5, rounds=1)
