"""The commands bench homophilic, heterophilic and modern, as a user types them."""

import json
import sys
from pathlib import Path

import pytest

from herofilter.cli import main
from herofilter.reproduce import table_rows, trials


@pytest.fixture(autouse=True)
def _small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = {**trials.PROTOCOL, "epochs": 3, "hidden_channels": 8}
    monkeypatch.setattr(table_rows, "PROTOCOL", quick)


def run(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    monkeypatch.setattr(sys, "argv", ["herofilter", *args])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


@pytest.mark.parametrize("table", ["homophilic", "heterophilic", "modern"])
def test_files_and_table(
    table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["bench", table, "--graphs", "karate", "--models", "mlp,gcn", "--splits", "0"]
    args += ["--trials", "1", "--workers", "1"]
    assert run(monkeypatch, *args) == 0
    text = capsys.readouterr().out
    assert "karate" in text
    assert f"written to runs/tables/{table}.md, .html, .csv and .json" in text
    assert Path(f"runs/tables/{table}.html").stat().st_size < 4_000_000
    folder = Path("runs/tables")
    assert len((folder / "trainings.jsonl").read_text().splitlines()) == 2
    page = (folder / f"{table}.md").read_text()
    assert f"`herofilter bench {table} --graphs karate --models mlp,gcn --splits 0" in page
    assert (folder / f"{table}.csv").read_text().startswith("model,title,graph,metric,splits")
    assert run(monkeypatch, *args, "--finished", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((folder / f"{table}.json").read_text())
    assert found["graphs"]["karate"]["rows"]["gcn"]["rank"] in (1, 2)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--models", "gnc"], "did you mean 'gcn'"),
        (["--graphs", "texsa"], "did you mean 'texas'"),
        (["--trials", "0"], "trials must be at least 1 (got 0)"),
        (["--splits", "eleven"], "splits must be all or numbers such as 0,1,2 (got 'eleven')"),
        (["--workers", "0"], "workers must be at least 1 (got 0)"),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "bench", "homophilic", *args) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert text in error
    assert len(error.strip().splitlines()) == 1
    assert not Path("runs").exists()


def test_help_shows_an_example(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in ("homophilic", "heterophilic", "modern"):
        assert run(monkeypatch, "bench", table, "--help") == 0
        assert f"Example: herofilter bench {table}" in capsys.readouterr().out
