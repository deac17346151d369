import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.files import load_tensors
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training import prepare, train_splits
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import train_split
from tests.events import epochs, stop_in
from tests.training.graphs import SMALL, graph

FILES = {
    "config.yaml",
    "environment.json",
    "graph",
    "metrics.json",
    "split-0",
    "split-2",
}


def run(out: Path, splits: tuple[int, ...] = (0, 1, 2), **options: Any) -> dict[str, Any]:
    return train_splits(graph(), "herofilter", SMALL, splits, "small", out, **options)


def without_times(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key != "seconds"}


def test_what_a_run_leaves_behind(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    summary = run(out, (0, 2))
    assert {path.name for path in out.iterdir()} == FILES
    known = yaml.safe_load((out / "config.yaml").read_text())
    assert Config.from_dict(known["config"]) == resolve_defaults(graph(), SMALL)
    assert known["config"]["train"]["feature_scaling"] == "standard"
    assert (known["graph"], known["model"]) == ("small", "herofilter")
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["test_accuracy"] == summary["test_accuracy"]
    assert list(metrics["splits"]) == ["0", "2"]
    assert metrics["splits"]["2"]["test_accuracy"] == summary["test_accuracy"]["values"][1]
    saved = SavedModel.load(out / "split-0")
    assert [line["epoch"] for line in saved.history] == list(range(6))
    assert saved.metrics == metrics["splits"]["0"]
    environment = json.loads((out / "environment.json").read_text())
    assert environment["packages"]["torch"] == version("torch")


def test_the_weights_are_those_of_the_model(tmp_path: Path) -> None:
    run(tmp_path / "run", (0, 1))
    for split in (0, 1):
        network, _ = train_split(prepare(graph(), SMALL), "herofilter", SMALL, split)
        loaded = Predictor.load(tmp_path / "run", split).network.state_dict()
        assert loaded.keys() == network.state_dict().keys()
        for key, value in network.state_dict().items():
            assert torch.equal(loaded[key], value), key


@pytest.mark.parametrize("error", [ZeroDivisionError(), MemoryError()])
def test_a_crashed_run_is_continued(tmp_path: Path, error: Exception) -> None:
    out, heard = tmp_path / "run", []
    whole = run(tmp_path / "whole")
    with pytest.raises(type(error)):
        run(out, callback=stop_in(1, 2, error))
    assert list(json.loads((out / "metrics.json").read_text())["splits"]) == ["0"]
    summary = run(out, callback=heard.append)
    assert {split for split, _ in epochs(heard)} == {1, 2}
    assert without_times(summary) == without_times(whole)
    one, other = (
        load_tensors(path / "split-1" / "weights.safetensors")[0] for path in (out, whole_of(out))
    )
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)
    for name in ("config.yaml", "split-1/history.json"):
        assert (out / name).read_text() == (whole_of(out) / name).read_text()


def whole_of(out: Path) -> Path:
    return out.parent / "whole"


def test_an_interrupted_run_keeps_finished_splits_and_is_continued(tmp_path: Path) -> None:
    out = tmp_path / "run"
    whole = run(tmp_path / "whole")
    summary = run(out, callback=stop_in(1, 2, KeyboardInterrupt()))
    assert summary["interrupted"]
    metrics = json.loads((out / "metrics.json").read_text())
    # the split that was cut short is trained anew next time
    assert list(metrics["splits"]) == ["0"]
    assert "test_accuracy" not in metrics
    assert without_times(run(out)) == without_times(whole)


def test_a_crash_in_the_first_split_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(ZeroDivisionError):
        run(out, callback=stop_in(0, 2, ZeroDivisionError()))
    assert not out.exists()
    assert run(out)["splits"] == [0, 1, 2]


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first, heard = run(tmp_path, (0,)), []
    again = run(tmp_path, (0,), callback=heard.append)
    assert epochs(heard) == []
    assert without_times(again) == without_times(first)
    more = run(tmp_path, (0, 1), callback=heard.append)
    assert {split for split, _ in epochs(heard)} == {1}
    assert more["test_accuracy"]["values"][:1] == first["test_accuracy"]["values"]


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    run(tmp_path, (0,))
    before = content(tmp_path)
    with pytest.raises(RunError) as caught:
        train_splits(graph(), "herofilter", SMALL.replace(seed=1), (0,), "small", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must hold the same run to be continued, but its configuration differs; "
        "give another --out"
    )
    with pytest.raises(RunError, match="configuration differs"):
        train_splits(graph(), "mlp", SMALL, (0,), "small", tmp_path)
    with pytest.raises(RunError, match="configuration differs"):
        train_splits(graph(), "herofilter", SMALL, (0,), "other", tmp_path)
    other = graph()
    other.x += 1
    with pytest.raises(RunError) as caught:
        train_splits(other, "herofilter", SMALL, (0, 1), "small", tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must hold the same run to be continued, but its graph differs; "
        "give another --out"
    )
    assert content(tmp_path) == before


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError) as caught:
        run(tmp_path)
    assert str(caught.value) == (
        f"the run folder must be new, empty or a run to continue (got {tmp_path}); "
        "give another --out"
    )
    with pytest.raises(RunError, match="must be a folder or absent"):
        run(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "name", ["split-0/weights.safetensors", "metrics.json", "split-0/history.json"]
)
def test_a_damaged_file_is_told(tmp_path: Path, name: str) -> None:
    run(tmp_path, (0,))
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RunError) as caught:
        run(tmp_path)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path} must hold a readable run to be continued (")
    assert text.endswith("; give another --out")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("split-0/weights.safetensors", ""),
        ("split-0/model.json", "{}"),
        ("metrics.json", "[]"),
        ("config.yaml", "{"),
    ],
)
def test_a_file_of_another_kind_is_told(tmp_path: Path, name: str, text: str) -> None:
    run(tmp_path, (0,))
    (tmp_path / name).write_text(text)
    with pytest.raises(RunError, match="must hold a readable run") as caught:
        run(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["weights.safetensors", "history.json", "model.json"])
def test_an_absent_file_is_told(tmp_path: Path, name: str) -> None:
    run(tmp_path, (0,))
    (tmp_path / "split-0" / name).unlink()
    with pytest.raises(RunError, match=f"readable run to be continued .*{name}"):
        run(tmp_path)


def test_a_run_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    first = run(tmp_path, (0,))
    path = tmp_path / "config.yaml"
    known = yaml.safe_load(path.read_text())
    known["config"]["patcher"]["resolved"] = False
    path.write_text(yaml.safe_dump(known, sort_keys=False))
    heard: list[Event] = []
    assert without_times(run(tmp_path, (0,), callback=heard.append)) == without_times(first)
    assert epochs(heard) == []
