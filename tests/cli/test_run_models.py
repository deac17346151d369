"""The commands of models take runs, too."""

import csv
import json
from pathlib import Path

import pytest

from herofilter.data import load_dataset
from tests.cli.test_cli import Cli, cli as cli, mine as mine
from tests.optional_parts import absent

QUICK = ("--set", "epochs=5", "--set", "hidden_channels=8", "--set", "patch_size=4")


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("model", ["herofilter", "auto"])
def test_a_run_is_predicted_explained_and_exported(cli: Cli, mine: str, model: str) -> None:
    options = ("--model", model, "--splits", "0,1", "--out", "run", *QUICK)
    assert cli("train", mine, *options).code == 0
    data = load_dataset(mine, split=1)
    assert cli("predict", "run", "--split", "1", "--out", "all.csv").code == 0
    found = rows("all.csv")
    assert [row["id"] for row in found] == [str(node) for node in range(30)]
    assert [row["label"] for row in found] == [str(label) for label in data.y.tolist()]
    test = [row for row in found if row["part"] == "test"]
    assert len(test) == int(data.test_mask.sum())
    right = sum(row["label"] == row["prediction"] for row in test) / len(test)
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert right == pytest.approx(metrics["splits"]["1"]["test_accuracy"])
    again = cli("predict", "run/split-1", "--out", "again.csv", "--json").json()
    assert again == {"out": "again.csv", "nodes": 30, "notes": []}
    assert Path("again.csv").read_bytes() == Path("all.csv").read_bytes()
    if model == "herofilter":
        explained = cli("explain", "run", "--split", "1", "--node", "4", "--json").json()
        assert explained["node"] == 4
        assert str(explained["prediction"]) == found[4]["prediction"]
        if not absent("onnx"):
            exported = cli("export", "run", "--split", "1", "--onnx", "m.onnx")
            assert exported.out == "written: m.onnx\n"


def test_what_can_not_be_used_is_told(cli: Cli, mine: str) -> None:
    cli("train", mine, "--model", "mlp", "--splits", "0,1", "--out", "run", *QUICK)
    for command in (("predict", "run"), ("explain", "run", "--node", "4")):
        assert cli(*command).error() == (
            "run must be used with one of its splits (got none named; it has 0, 1); "
            "name one, such as --split 0"
        )
    tables = ("--edges", mine.replace(".npz", ".csv"))
    Path("mine.csv").write_text("source,target\n0,1\n")
    assert cli("predict", "run", "--split", "0", *tables).error() == (
        "the model must have been fitted on tables to predict tables (got one without an "
        "encoder); use Predictor.load and its method on(data) instead"
    )
    Path(mine).unlink()
    assert "was trained on must be found as" in cli("predict", "run", "--split", "0").error()


def test_a_named_split_keeps_its_graph(cli: Cli) -> None:
    assert cli("train", "karate", "--model", "mlp", "--out", "run", *QUICK).code == 0
    assert cli("predict", "run").code == 0
    assert len(rows("predictions.csv")) == 34


@pytest.mark.parametrize("command", ["fit", "info", "predict", "explain"])
def test_commands_share_the_options_of_columns(cli: Cli, command: str) -> None:
    shown = cli(command, "--help").out
    for option in ("--id", "--source", "--target", "--weight", "--drop-unknown", "--encoding"):
        assert f" {option} " in shown
    assert (" --features " in shown) == (command in ("fit", "info"))
    # the importance of columns, not the argument that the options stand for
    assert (" --columns " in shown) == (command == "explain")
