"""Model folders whose checksums are right and whose content isn't."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herofilter.config import Config
from herofilter.data import csbm
from herofilter.errors import ConfigError, HeroFilterError
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "model"
    data = with_validation(csbm(num_nodes=60, num_classes=3), 0.2)
    fit_model(data, ("a", "b", "c"), "mlp", Config().replace(epochs=2)).save(folder)
    return folder


@pytest.fixture
def change(saved: Path, tmp_path: Path) -> Callable[[str, bytes], Path]:
    """Return a function that changes a file of a copy, with the right checksum."""

    def apply(name: str, content: bytes) -> Path:
        folder = tmp_path / "model"
        folder.mkdir()
        for path in saved.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / name).write_bytes(content)
        seal = json.loads((saved / "model.json").read_text())
        if name != "model.json":
            seal["files"][name] = hashlib.sha256(content).hexdigest()
            (folder / "model.json").write_text(json.dumps(seal))
        return folder

    return apply


def refused(folder: Path) -> str:
    with pytest.raises(HeroFilterError) as caught:
        Predictor.load(folder).predict_proba()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("graph.npz", b"PK\x03\x04 cut"),
        ("ids.parquet", b"PAR1 cut PAR1"),
        ("classes.json", b"[" * 100_000),
        ("history.json", b"{"),
        ("config.yaml", b"[" * 5000),
        ("config.yaml", b"train: {epochs: 2020-99-99}"),
        ("config.yaml", b"model"),
        ("weights.safetensors", b"\xff" * 64),
    ],
)
def test_damaged_files(change: Callable[[str, bytes], Path], name: str, content: bytes) -> None:
    refused(change(name, content))


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "warm", None, [1]])
def test_temperatures(change: Callable[[str, bytes], Path], saved: Path, value: Any) -> None:
    seal = json.loads((saved / "model.json").read_text())
    refused(change("model.json", json.dumps({**seal, "temperature": value}).encode()))


@pytest.mark.parametrize("name", ["[" * 3000, "🙂" * 200, "../x", "", "..", "a\0b", "model.json"])
def test_names_of_files(change: Callable[[str, bytes], Path], saved: Path, name: str) -> None:
    seal = json.loads((saved / "model.json").read_text())
    files = {**seal["files"], name: "0" * 64}
    assert len(refused(change("model.json", json.dumps({**seal, "files": files}).encode()))) < 2000


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("hidden_channels: 1000000000", "hidden_channels must be at most 65536"),
        ("num_layers: 1000000", "num_layers must be at most 1000"),
        ("dropout: 0.999999999", "dropout must be at most 0.99"),
        ("hidden_channels: 65536\n  num_layers: 1000", "needs"),
    ],
)
def test_absurd_models(change: Callable[[str, bytes], Path], setting: str, said: str) -> None:
    assert said in refused(change("config.yaml", f"model:\n  {setting}\n".encode()))


@pytest.mark.parametrize(
    "settings",
    [
        ["dropout=0.999999999"],
        ["hidden_channels=1000000000"],
        ["seed=" + "9" * 4000],
        ["lr=" + "[" * 4000],
        ["epochs=2020-99-99"],
    ],
)
def test_absurd_settings(settings: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        Config().with_settings(settings)
    assert "\n" not in str(caught.value)
