import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from herofilter import scratch
from herofilter.data import load_dataset, on_disk
from herofilter.data.datasets.graph_cache import graph_path
from herofilter.errors import CacheWarning, DatasetError
from herofilter.files import load_tensors, save_tensors
from tests.data import raw_files
from tests.data.conftest import Folders


@pytest.fixture
def raw(folders: Folders) -> Path:
    return raw_files.write_npz(folders.data / "tolokers/raw/tolokers.npz")


def test_second_load_reads_the_cache(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_dataset("tolokers", split=None)
    monkeypatch.setattr(np, "load", None)
    again = load_dataset("tolokers", split=None)
    assert again.to_dict().keys() == first.to_dict().keys()
    for name, value in first.to_dict().items():
        same = torch.equal(value, again[name]) if torch.is_tensor(value) else value == again[name]
        assert same, name


def test_sparse_features_come_back_dense(raw: Path) -> None:
    x = np.eye(30, 40, dtype=np.float32) * 0.3
    raw_files.write_npz(raw, node_features=x)
    for _ in range(2):
        assert np.array_equal(load_dataset("tolokers").x.numpy(), x)
    assert "x.value" in load_tensors(graph_path("tolokers"))[0]


def test_changed_raw_file_is_noticed(raw: Path) -> None:
    load_dataset("tolokers")
    raw_files.write_npz(raw, node_labels=np.arange(30) % 2)
    os.utime(raw, ns=(0, 12345))
    assert int(load_dataset("tolokers").y.max()) == 1


def test_cached_graph_is_enough(raw: Path) -> None:
    load_dataset("tolokers")
    shutil.rmtree(raw.parent)
    assert on_disk("tolokers")
    assert load_dataset("tolokers").num_nodes == 30


@pytest.mark.parametrize("size", [0, 7, 2000])
def test_damaged_cache_is_made_anew(raw: Path, size: int) -> None:
    load_dataset("tolokers")
    path = graph_path("tolokers")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.warns(CacheWarning) as caught:
        data = load_dataset("tolokers")
    assert [str(warning.message) for warning in caught] == [
        f"the cached graph {path} was damaged and is made anew from the raw files"
    ]
    assert data.num_nodes == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_dataset("tolokers")


def test_flipped_bit_is_noticed(raw: Path) -> None:
    load_dataset("tolokers")
    path = graph_path("tolokers")
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.warns(CacheWarning, match="was damaged"):
        data = load_dataset("tolokers")
    assert data.num_nodes == 30


def test_foreign_file_in_the_cache(raw: Path) -> None:
    save_tensors(graph_path("tolokers"), {"a": torch.ones(2)})
    with pytest.warns(CacheWarning, match="was damaged"):
        assert load_dataset("tolokers").num_nodes == 30


def test_damaged_cache_without_raw_files(raw: Path) -> None:
    load_dataset("tolokers")
    graph_path("tolokers").write_bytes(b"x")
    shutil.rmtree(raw.parent)
    with pytest.warns(CacheWarning), pytest.raises(DatasetError, match="must be on disk"):
        load_dataset("tolokers")


def test_cache_that_cannot_be_written(raw: Path, folders: Folders) -> None:
    folders.cache.write_text("a file where the folder should be")
    with pytest.warns(CacheWarning, match="set HEROFILTER_CACHE to a folder"):
        assert load_dataset("tolokers").num_nodes == 30


def test_data_folder_is_only_read(raw: Path, folders: Folders) -> None:
    before = sorted(folders.data.rglob("*"))
    for path in (*before, folders.data):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        load_dataset("tolokers")
        assert sorted(folders.data.rglob("*")) == before
    finally:
        for path in (folders.data, *before):
            path.chmod(0o755)


def test_what_a_killed_process_left_goes_when_the_graph_is_read(folders: Folders) -> None:
    raw_files.write_npz(folders.data / "tolokers/raw/tolokers.npz")
    load_dataset("tolokers")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    name = f".tolokers.{scratch._host}-{ended.pid}-01234567.part"
    (folders.cache / "graphs" / name).mkdir()
    load_dataset("tolokers")
    assert [path.name for path in (folders.cache / "graphs").iterdir()] == ["tolokers.safetensors"]
