import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import HeterophilousGraphDataset

from herofilter.data import check_graph, load_dataset, num_splits, read_npz
from herofilter.errors import DatasetError, GraphError
from tests.data import raw_files
from tests.data.conftest import Folders


def test_agrees_with_pyg(folders: Folders, tmp_path: Path) -> None:
    raw_files.write_npz(folders.data / "roman_empire/raw/roman_empire.npz")
    data = load_dataset("roman-empire", split=None)
    shutil.copytree(folders.data, tmp_path / "pyg")
    expected = HeterophilousGraphDataset(str(tmp_path / "pyg"), "Roman-empire")[0]
    for name in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[name], expected[name]), name
    assert (data.name, data.variant) == ("roman-empire", "heterophilous-graphs 50/25/25")


@pytest.mark.parametrize("name", ["chameleon", "squirrel"])
def test_filtered(folders: Folders, name: str) -> None:
    raw_files.write_npz(folders.data / f"{name}-filtered/{name}_filtered.npz")
    data = load_dataset(f"{name}-filtered", split=9)
    assert torch.equal(data.test_mask, torch.from_numpy(raw_files.thirds(10)["test_masks"][9]))
    assert data.variant == "filtered 48/32/20"
    check_graph(data, split_required=True)


@pytest.mark.parametrize("name", ["chameleon", "squirrel"])
def test_filtered_with_directions(folders: Folders, name: str) -> None:
    raw_files.write_npz(folders.data / f"{name}-filtered/{name}_filtered_directed.npz")
    data = load_dataset(f"{name}-filtered-directed", split=9)
    assert torch.equal(data.edge_index, torch.from_numpy(raw_files.EDGES.T))
    assert (data.name, data.variant) == (
        f"{name}-filtered-directed",
        "filtered 48/32/20, directed",
    )
    check_graph(data, split_required=True)


def test_own_file(tmp_path: Path) -> None:
    path = raw_files.write_npz(tmp_path / "mine.npz")
    data = load_dataset(path, split=3)
    assert (data.name, data.variant) == ("mine", "splits of the file")
    assert torch.equal(data.train_mask, torch.from_numpy(raw_files.thirds(10)["train_masks"][3]))
    assert data.edge_index.size(1) == 120


def test_own_file_with_the_least_that_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "least.npz"
    labels = np.array([0, 1, 2] * 9 + [-1, -1, -1], dtype=np.int8)
    np.savez(path, edges=raw_files.EDGES, node_labels=labels, directed=True)
    data = load_dataset(str(path), split=None)
    assert data.x is None
    assert num_splits(data) == 10
    assert torch.equal(data.edge_index, torch.from_numpy(raw_files.EDGES.T))
    assert data.y.dtype == torch.long
    assert data.variant == "random 48/32/20"
    check_graph(load_dataset(path), split_required=True)


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.npz"
    with pytest.raises(DatasetError) as caught:
        load_dataset(path)
    assert str(caught.value) == f"{path} must be an existing file; check the path"


def test_missing_keys(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, edges=raw_files.EDGES, labels=[0, 1], train_masks=[[True, False]])
    with pytest.raises(DatasetError) as caught:
        read_npz(path)
    assert str(caught.value) == (
        f"{path} must hold node_labels, val_masks, test_masks "
        "(it holds edges, labels, train_masks); read_npz lists the keys of the layout"
    )


def test_truncated_file(tmp_path: Path) -> None:
    path = raw_files.write_npz(tmp_path / "mine.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DatasetError, match=r"must be a readable file in numpy's npz layout \("):
        read_npz(path)


def test_pickled_objects_stay_pickled(tmp_path: Path) -> None:
    path = raw_files.write_npz(tmp_path / "mine.npz", node_labels=np.array([{}] * 30, dtype=object))
    with pytest.raises(DatasetError, match="would have to be unpickled"):
        read_npz(path)


def test_graph_that_breaks_a_rule(tmp_path: Path) -> None:
    path = raw_files.write_npz(tmp_path / "mine.npz", edges=raw_files.EDGES + 5)
    with pytest.raises(GraphError, match=r"node indices from 0 to 29 \(got 5 to 34"):
        read_npz(path)
    raw_files.write_npz(path, edges=raw_files.EDGES + 0.5)
    with pytest.raises(DatasetError, match="the layout that read_npz describes"):
        read_npz(path)
