"""The folder for a model hub: metadata, the card's facts, and a model that predicts the same."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from herofilter.errors import ConfigError, HeroFilterError, RunError
from herofilter.predict import Predictor
from herofilter.report.hub_folder import write_hub_folder
from herofilter.training.artifacts.model_folder import SavedModel
from tests.cli.test_cli import Cli, cli as cli
from tests.user_tables import NAMES, write_tables

FIT = ("fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "topic", "--trials", "1")
SHORT = ("--model", "gcn", "--set", "epochs=20", "--budget", "10m", "--no-report")


def metadata(folder: Path) -> tuple[dict[str, Any], str]:
    nothing, head, card = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    assert nothing == ""
    return yaml.safe_load(head), card


@pytest.fixture
def fitted(cli: Cli, tmp_path: Path) -> Path:
    write_tables(tmp_path)
    outcome = cli(*FIT, *SHORT, "--out", "model")
    assert outcome.code == 0, outcome.err
    return tmp_path / "model"


def test_a_fitted_model_becomes_a_hub_folder_that_predicts(cli: Cli, fitted: Path) -> None:
    outcome = cli("export", "model", "--hub", "hub", "--license", "mit")
    assert (outcome.code, outcome.out) == (0, "written: hub\n")
    assert "the training graph and its labels are in the folder" in outcome.err
    hub = Path("hub")
    about, card = metadata(hub)
    assert about["library_name"] == "herofilter"
    assert about["license"] == "mit"
    assert about["pipeline_tag"] == "graph-ml"
    assert {"herofilter", "node-classification", "gcn"} <= set(about["tags"])
    saved = SavedModel.load(fitted)
    test = saved.metrics["models"]["gcn"]["test"]
    ((index,),) = (entry["results"] for entry in about["model-index"])
    values = {entry["type"]: entry["value"] for entry in index["metrics"]}
    assert values["accuracy"] == test["accuracy"]
    assert about["metrics"] == list(values)
    for heading in ("What to know first", "How good it is", "The graph", "How it was made"):
        assert f"## {heading}" in card
    assert "report.html" not in card
    config = json.loads((hub / "config.json").read_text())
    assert config["model_type"] == "gcn"
    assert sorted(config["id2label"].values()) == sorted(NAMES)
    stored = load_file(hub / "model.safetensors")
    assert {key: value.shape for key, value in stored.items()} == {
        key: value.shape for key, value in saved.state.items()
    }
    assert cli("predict", "model", "--out", "a.csv").code == 0
    assert cli("predict", "hub", "--out", "b.csv").code == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_the_card_may_be_edited_and_the_folder_written_again(fitted: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    write_hub_folder(fitted, hub)
    (hub / "README.md").write_text("mine")
    assert torch.equal(Predictor.load(hub).predict_proba(), Predictor.load(fitted).predict_proba())
    write_hub_folder(fitted, hub)
    assert metadata(hub)[0]["license"] == "unknown"


def test_a_graph_can_be_left_out(fitted: Path, tmp_path: Path) -> None:
    kept = write_hub_folder(fitted, tmp_path / "hub", with_graph=False)
    assert kept.graph is None
    assert not list((tmp_path / "hub").glob("graph*"))
    loaded = Predictor.load(tmp_path / "hub")
    with pytest.raises(RunError, match="must have been saved with its graph"):
        loaded.predict()
    data = Predictor.load(fitted).data
    assert loaded.on(data).predict_proba().shape == (data.num_nodes, len(NAMES))


def test_a_split_of_a_run_keeps_the_name_of_its_graph(cli: Cli, tmp_path: Path) -> None:
    options = ("--model", "mlp", "--set", "epochs=5", "--no-report", "--out", "run")
    assert cli("train", "karate", *options).code == 0
    outcome = cli("export", "run", "--hub", "hub")
    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    about, card = metadata(Path("hub"))
    assert about["model-index"][0]["name"] == "mlp-karate"
    assert "karate" in card
    assert not Path("hub/graph.npz").exists()
    assert cli("predict", "hub").code == 0


def test_mistakes_are_sentences(cli: Cli, fitted: Path, tmp_path: Path) -> None:
    outcome = cli("export", "model")
    assert outcome.code == 2
    assert "export must know what to write (got nothing); give --onnx or --hub" in outcome.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    outcome = cli("export", "model", "--hub", "full")
    assert outcome.code == 2
    assert "must be new, empty or hold a model to replace" in outcome.err
    with pytest.raises(ConfigError, match="the licence must be one word"):
        write_hub_folder(fitted, tmp_path / "hub", licence="my own words")


@pytest.mark.parametrize("name", ["../weights.safetensors", ["a"], "absent.safetensors"])
def test_a_seal_that_names_other_weights_is_refused(name: Any, fitted: Path) -> None:
    seal = json.loads((fitted / "model.json").read_text())
    (fitted / "model.json").write_text(json.dumps({**seal, "weights": name}))
    with pytest.raises(HeroFilterError, match="must hold"):
        SavedModel.load(fitted)
