"""Runs are used like models: predictions of a split are those of its training."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from herofilter.config import Config
from herofilter.data import load_dataset, save_graph_folder, select_split
from herofilter.errors import RunError
from herofilter.files import save_tensors, write_json
from herofilter.predict import Predictor
from herofilter.training import predict_logits, prepare, train_splits
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.artifacts.locate import locate_model
from herofilter.training.recipe import train_split
from tests.awkward import AWKWARD
from tests.events import epochs
from tests.training.graphs import SMALL, graph

KARATE = Config().replace(epochs=5, hidden_channels=8, patch_size=4)
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("herofilter", {}),
    ("herofilter", {"patcher": "spectral", "refresh_every": 2}),
    ("herofilter", {"patcher": "fast", "label_tokens": True}),
    ("herofilter", {"feature_scaling": "rows"}),
    ("herofilter", {"label_shares": True}),
    ("fast-herofilter", {}),
    ("bm-gcn", {}),
    ("linkx", {}),
]


def run(out: Path, model: str = "herofilter", splits: tuple[int, ...] = (0, 1)) -> None:
    train_splits(graph(), model, SMALL, splits, "small", out)


@pytest.mark.parametrize(("model", "settings"), VARIANTS)
def test_a_split_predicts_what_its_training_did(
    tmp_path: Path, model: str, settings: dict[str, Any]
) -> None:
    data, config = graph(), SMALL.replace(**settings)
    summary = train_splits(data, model, config, (0, 2), "small", tmp_path)
    for place, split in enumerate((0, 2)):
        prepared = prepare(data, config, model)
        network, result = train_split(prepared, model, config, split)
        loaded = Predictor.load(tmp_path, split)
        # features that come from the disk are the same ones
        assert torch.equal(loaded.predict_logits(), predict_logits(network, prepared))
        test = loaded.data.test_mask
        assert torch.equal(test, select_split(data, split).test_mask)
        right = (loaded.predict_proba(test.nonzero().view(-1)).argmax(1) == data.y[test]).double()
        assert float(right.mean()) == pytest.approx(result.test.accuracy)
        assert result.test.accuracy == summary["test_accuracy"]["values"][place]
        assert loaded.classes == (0, 1, 2)


@pytest.mark.parametrize("name", ["directed", "no_features", "weighted", "no_edges"])
@pytest.mark.parametrize("model", ["herofilter", "gcn"])
def test_runs_on_awkward_graphs(tmp_path: Path, name: str, model: str) -> None:
    data = AWKWARD[name]()
    config = SMALL.replace(patch_size=2)
    summary = train_splits(data, model, config, (0,), "odd", tmp_path)
    loaded = Predictor.load(tmp_path)
    right = (loaded.predict_proba().argmax(1) == data.y)[data.test_mask.view(-1)].double().mean()
    assert float(right) == pytest.approx(summary["test_accuracy"]["mean"])


# --- where the graph is


def test_a_named_graph_is_not_copied(tmp_path: Path) -> None:
    data = load_dataset("karate", split=None)
    source = GraphSource.at("karate")
    train_splits(data, "herofilter", KARATE, (3,), "karate", tmp_path, source=source)
    assert {path.name for path in (tmp_path / "split-3").iterdir()} == {
        "classes.json",
        "config.yaml",
        "graph.json",
        "history.json",
        "metrics.json",
        "model.json",
        "parts.safetensors",
        "weights.safetensors",
    }
    assert not (tmp_path / "graph").exists()
    loaded = Predictor.load(tmp_path)
    assert torch.equal(loaded.data.train_mask, data.train_mask[:, 3])
    assert loaded.saved.training_graph.ids.to_pylist() == list(range(34))
    assert loaded.predict_proba().shape == (34, int(data.y.max()) + 1)


def test_the_copy_of_a_graph_is_shared_and_moves_with_the_run(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = Predictor.load(tmp_path / "run", 1).predict_proba()
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    assert torch.equal(Predictor.load(tmp_path / "elsewhere", 1).predict_proba(), before)
    assert not list((tmp_path / "elsewhere").rglob("graph.npz"))


def test_a_graph_that_is_gone_is_told(tmp_path: Path) -> None:
    save_graph_folder(graph(), tmp_path / "mine")
    source = GraphSource.at(tmp_path / "mine")
    data = load_dataset(tmp_path / "mine", split=None)
    train_splits(data, "mlp", SMALL, (0,), "mine", tmp_path / "run", source=source)
    (tmp_path / "mine").rename(tmp_path / "yours")
    with pytest.raises(RunError) as caught:
        Predictor.load(tmp_path / "run").predict_proba()
    assert str(caught.value) == (
        f"the graph that {tmp_path / 'run' / 'split-0'} was trained on must be found as "
        f"{tmp_path / 'mine'} ({tmp_path / 'mine'} must be a graph folder (got no graph.json in "
        "it); make one with: herofilter pack GRAPH --out FOLDER); put it back, or train anew"
    )
    # for another graph it isn't needed
    assert Predictor.load(tmp_path / "run").on(graph()).predict_proba().shape == (80, 3)


def test_a_graph_that_has_changed_is_told(tmp_path: Path) -> None:
    save_graph_folder(graph(), tmp_path / "mine")
    source = GraphSource.at(tmp_path / "mine")
    data = load_dataset(tmp_path / "mine", split=None)
    train_splits(data, "mlp", SMALL, (0,), "mine", tmp_path / "run", source=source)
    changed = graph()
    changed.x[3, 4] += 1
    save_graph_folder(changed, tmp_path / "mine")
    with pytest.raises(RunError) as caught:
        Predictor.load(tmp_path / "run").predict_proba()
    assert str(caught.value) == (
        f"{tmp_path / 'mine'} must be the graph that {tmp_path / 'run' / 'split-0'} was trained on "
        "(got other edges, features or labels); put the old graph back, or train anew"
    )


# --- which folder is meant


def test_one_split_needs_no_name(tmp_path: Path) -> None:
    run(tmp_path, "mlp", (2,))
    assert locate_model(tmp_path) == locate_model(tmp_path, 2) == tmp_path / "split-2"
    assert locate_model(tmp_path / "split-2") == tmp_path / "split-2"


def test_the_split_must_be_clear(tmp_path: Path) -> None:
    run(tmp_path, "mlp")
    with pytest.raises(RunError) as caught:
        locate_model(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must be used with one of its splits (got none named; it has 0, 1); "
        "name one, such as --split 0"
    )
    with pytest.raises(RunError) as caught:
        locate_model(tmp_path, 7)
    assert str(caught.value) == (
        f"the split must be one that {tmp_path} has finished (got 7; it has 0, 1)"
    )
    with pytest.raises(RunError) as caught:
        locate_model(tmp_path / "split-0", 0)
    assert str(caught.value) == (
        f"a split must be that of a run (got 0 for {tmp_path / 'split-0'}, which holds one model); "
        "leave the split out"
    )


def test_a_run_without_a_finished_split_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("graph: small\n")
    with pytest.raises(RunError) as caught:
        locate_model(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must have a finished split (got none); give the same herofilter train again "
        "to continue it"
    )
    (tmp_path / "metrics.json").write_text("{")
    with pytest.raises(RunError, match=r"metrics\.json must be readable JSON \(JSONDecodeError\)"):
        locate_model(tmp_path)


def as_before(folder: Path) -> None:
    """Turn a run of one split into what an earlier version left behind."""
    split = folder / "split-0"
    saved = Predictor.load(split).saved
    state = {f"split-0.{key}": value for key, value in saved.state.items()}
    save_tensors(folder / "weights.safetensors", state)
    write_json(folder / "history.json", {"0": saved.history})
    for path in (*split.iterdir(), *(folder / "graph").iterdir()):
        path.unlink()
    split.rmdir()
    (folder / "graph").rmdir()


def test_a_run_of_an_earlier_version_is_continued_but_not_used(tmp_path: Path) -> None:
    run(tmp_path, "mlp", (0,))
    as_before(tmp_path)
    before = json.loads((tmp_path / "metrics.json").read_text())["splits"]["0"]
    with pytest.raises(RunError) as caught:
        locate_model(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must be a run whose splits are model folders (got one of an earlier version, "
        "which can be continued but not used); train it anew into another folder"
    )
    heard: list[Any] = []
    train_splits(graph(), "mlp", SMALL, (0, 1), "small", tmp_path, heard.append)
    assert {split for split, _ in epochs(heard)} == {1}
    splits = json.loads((tmp_path / "metrics.json").read_text())["splits"]
    assert splits["0"] == before
    assert locate_model(tmp_path) == tmp_path / "split-1"
    assert (tmp_path / "weights.safetensors").exists()
