"""The command reproduce, as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from herofilter.cli import main
from herofilter.reproduce.studies.registry import STUDIES


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["herofilter", "reproduce", *args])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_list_names_every_study(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "list") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in STUDIES)
    assert run(monkeypatch, "list", "--json") == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(STUDIES)


@pytest.mark.part("pictures")
def test_quick_studies_have_a_folder_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "dataset-statistics,homophily-histograms", "--quick") == 0
    text = capsys.readouterr().out
    assert "dataset-statistics: not confirmed." in text
    assert "written to runs/reproduce-quick/index.html" in text
    index = Path("runs/reproduce-quick/index.html").read_text()
    assert 'href="homophily-histograms/figure.html"' in index
    assert not Path("results").exists()
    assert run(monkeypatch, "dataset-statistics", "--quick", "--json") == 0
    found = json.loads(capsys.readouterr().out)["dataset-statistics"]
    saved = Path("runs/reproduce-quick/dataset-statistics/data.json")
    assert found == json.loads(saved.read_text())
    assert found["command"] == "herofilter reproduce dataset-statistics --quick"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["patcher"], "did you mean 'patchers'?"),
        (["patchers,patchers"], "studies must name at least one and none twice"),
        (["patchers", "--workers", "0"], "workers must be at least 1 (got 0)"),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *args, "--quick") == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_result(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "herofilter", "reproduce", "recipe", "--quick", "--out"]
    records = tmp_path / "killed" / "records.jsonl"
    process = subprocess.Popen([*command, "killed"])
    while not records.is_file() or records.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = records.read_bytes().rpartition(b"\n")[0]
    assert not (tmp_path / "killed" / "recipe").exists()
    for folder in ("killed", "whole"):
        subprocess.run([*command, folder], check=True, stdout=subprocess.DEVNULL)
    assert records.read_bytes().startswith(kept)
    both = [
        json.loads((tmp_path / f / "recipe" / "data.json").read_text()) for f in ("killed", "whole")
    ]
    assert both[0]["rows"] == both[1]["rows"]
