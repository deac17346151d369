"""Ten seeds of a model, and what a leaderboard asks for."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from herofilter.config import Config
from herofilter.data import load_dataset
from herofilter.errors import ConfigError
from herofilter.nn import find_model
from herofilter.report.ogb_page import ogb_page
from herofilter.reproduce import ogb
from herofilter.reproduce.hardware import hardware
from herofilter.training import prepare
from tests.cli.test_cli import Cli, cli as cli
from tests.events import told

QUICK = ("epochs=4",)


def run(out: Path, **options: Any) -> dict[str, Any]:
    return ogb.run_ogb(out, "karate", "mlp", QUICK, workers=1, **options)


def test_the_submission_has_all_that_is_asked_for(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result["seeds"] == list(range(10))
    for key in ("test_accuracy", "val_accuracy"):
        values = result[key]["values"]
        assert len(values) == 10
        assert result[key]["mean"] == pytest.approx(statistics.fmean(values))
        # unbiased: divided by nine
        assert result[key]["std"] == pytest.approx(statistics.stdev(values))
    network = find_model("mlp").build(
        prepare(load_dataset("karate", split=None), Config(), "mlp"), Config()
    )
    assert result["parameters"] == sum(one.numel() for one in network.parameters())
    assert result["command"] == "herofilter bench ogb karate --model mlp --set epochs=4"
    assert result["official"] is False
    assert result["changed"] == {"epochs": 4}
    page = ogb_page(result)
    mean, std = result["test_accuracy"]["mean"], result["test_accuracy"]["std"]
    assert f"| Test accuracy | {mean:.4f} ± {std:.4f} |" in page
    assert f"| Number of parameters | {result['parameters']:,} |" in page
    assert f"| Hardware | {hardware('cpu')} |" in page
    assert "no task of OGB's" in page
    assert result["command"] in page
    assert "torch " in page


def test_finished_seeds_are_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete, trained = run(tmp_path / "a"), []

    def stop_at_the_third(job: ogb.SeedJob) -> Any:
        trained.append(job.config.train.seed)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return run_seed(job)

    run_seed = ogb.run_seed
    monkeypatch.setattr(ogb, "run_seed", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b")
    events: list[Any] = []
    continued = run(tmp_path / "b", callback=events.append)
    assert trained == [0, 1, 2, *range(2, 10)]
    assert told(events)[0] == (2, 10, "starting")
    for key in ("test_accuracy", "val_accuracy", "parameters"):
        assert continued[key] == complete[key]


def test_the_official_split_is_taken_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def kept_graph(name: str) -> Any:
        asked.append(name)
        return load_dataset("karate", split=None)

    monkeypatch.setattr(ogb, "kept_graph", kept_graph)
    monkeypatch.setattr("herofilter.reproduce.jobs.fetch", lambda graphs: None)
    result = ogb.run_ogb(tmp_path, "ogbn-arxiv", "mlp", QUICK, workers=1, seeds=(0, 1))
    assert set(asked) == {"ogbn-arxiv:ogb"}
    assert result["official"]
    assert "no task of OGB's" not in ogb_page(result)


def test_the_command_writes_both_files(cli: Cli) -> None:
    command = ("bench", "ogb", "karate", "--model", "gcn", "--set", "epochs=3", "--workers", "1")
    outcome = cli(*command)
    assert outcome.code == 0, outcome.err
    assert "parameters; written to runs/ogb-karate-gcn/submission.json" in outcome.out
    saved = json.loads(Path("runs/ogb-karate-gcn/submission.json").read_text())
    assert saved["graph"] == "karate"
    assert "## Settings" in Path("runs/ogb-karate-gcn/submission.md").read_text()
    assert json.loads(cli(*command, "--json").out)["test_accuracy"] == saved["test_accuracy"]


def test_mistakes_are_sentences(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("bench", "ogb", "karatee")
    assert (outcome.code, "did you mean 'karate'?" in outcome.err) == (2, True)
    with pytest.raises(ConfigError, match="seeds must be at least two, all different"):
        run(tmp_path, seeds=(1, 1))
