import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import (
    DiskFeatures,
    check_graph,
    csbm,
    density,
    graph_folder as module,
    load_dataset,
    load_graph_folder,
    save_graph_folder,
    to_sparse,
    verify_graph_folder,
)
from herofilter.errors import DatasetError, GraphError, HeroFilterError
from herofilter.files import DamagedFileError

CURE = "; copy the folder again or pack the graph anew"


def graph() -> Data:
    data = csbm(num_nodes=60, num_classes=3, num_features=8, num_splits=2, seed=3)
    data.edge_weight = torch.rand(data.edge_index.size(1))
    return data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_graph_folder(graph(), tmp_path / "graph")
    return (tmp_path / "graph").resolve()


def edit(folder: Path, change: Callable[[dict], object]) -> None:
    about = json.loads((folder / "graph.json").read_text())
    change(about)
    (folder / "graph.json").write_text(json.dumps(about))


def test_a_graph_comes_back_as_it_was(folder: Path) -> None:
    data, again = graph(), load_graph_folder(folder)
    for name in ("edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(again[name], data[name])
        assert again[name].dtype == data[name].dtype
    assert again.edge_weight.shape == data.edge_weight.shape
    assert isinstance(again.x, DiskFeatures)
    assert torch.equal(again.x.whole(), data.x)
    assert (again.num_nodes, again.num_features) == (60, 8)
    check_graph(again)


def test_edges_take_four_bytes_on_disk(folder: Path) -> None:
    assert np.load(folder / "edge_index.npy").dtype == np.int32


def test_mostly_zero_features_are_packed_and_come_back_dense(tmp_path: Path) -> None:
    data = graph()
    data.x = torch.where(torch.rand(60, 8) < 0.2, data.x, 0)
    save_graph_folder(data, tmp_path / "graph")
    again = load_graph_folder(tmp_path / "graph").x
    assert sorted(path.name for path in (tmp_path / "graph").glob("x*")) == [
        "x_col.npy",
        "x_crow.npy",
        "x_value.npy",
    ]
    assert torch.equal(again.whole(), data.x)
    assert again.rows(torch.tensor([5, 2])).layout == torch.sparse_csr
    assert torch.equal(again.rows(torch.tensor([5, 2])).to_dense(), data.x[[5, 2]])
    assert density(again) == density(data.x)


def test_compressed_features_stay_compressed(tmp_path: Path) -> None:
    data = graph()
    data.x = to_sparse(data.x)
    save_graph_folder(data, tmp_path / "graph")
    again = load_graph_folder(tmp_path / "graph").x.whole()
    assert again.layout == torch.sparse_csr
    assert torch.equal(again.to_dense(), data.x.to_dense())


@pytest.mark.parametrize("sparse", [False, True])
def test_half_precision_rounds_and_halves(tmp_path: Path, sparse: bool) -> None:
    data = graph()
    x = data.x
    data.x = to_sparse(x) if sparse else x
    save_graph_folder(data, tmp_path / "graph", half=True)
    again = load_graph_folder(tmp_path / "graph").x.whole()
    assert again.dtype == torch.float32
    assert torch.equal(again.to_dense() if sparse else again, x.half().float())
    name = "x_value.npy" if sparse else "x.npy"
    assert np.load(tmp_path / "graph" / name).dtype == np.float16


def test_no_features_and_no_labels_are_legal(tmp_path: Path) -> None:
    save_graph_folder(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3), tmp_path / "graph")
    again = load_graph_folder(tmp_path / "graph")
    assert again.x is None
    assert again.y is None
    assert again.num_nodes == 3


def test_a_folder_can_be_packed_again(folder: Path) -> None:
    save_graph_folder(load_graph_folder(folder), folder)
    assert torch.equal(load_graph_folder(folder).x.whole(), graph().x)
    assert [path.name for path in folder.parent.iterdir()] == ["graph"]


def test_nothing_appears_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_graph_folder(graph(), tmp_path / "old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(module, "write_json", fail)
    for name in ("new", "old"):
        with pytest.raises(OSError, match="no space left"):
            save_graph_folder(graph(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    verify_graph_folder(tmp_path / "old")


def test_other_content_is_never_replaced(tmp_path: Path, folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(DatasetError) as caught:
        save_graph_folder(graph(), folder)
    assert str(caught.value) == (
        f"the graph folder must be new, empty or hold a graph to replace (got {folder}); "
        "give another folder"
    )
    assert (folder / "notes.txt").read_text() == "mine"


def test_verify_reads_every_byte_and_loading_does_not(folder: Path) -> None:
    verify_graph_folder(folder)
    content = bytearray((folder / "x.npy").read_bytes())
    content[-1] ^= 1
    (folder / "x.npy").write_bytes(content)
    load_graph_folder(folder)
    with pytest.raises(DamagedFileError) as caught:
        verify_graph_folder(folder)
    assert str(caught.value) == (
        f"{folder}/x.npy must be as it was written, but its checksum differs{CURE}"
    )


def cut(folder: Path) -> None:
    content = (folder / "x.npy").read_bytes()
    (folder / "x.npy").write_bytes(content[:-4])


def other_type(folder: Path) -> None:
    old = np.load(folder / "y.npy")
    np.save(folder / "y.npy", old.astype(np.float64))


def other_shape(about: dict) -> None:
    about["features"]["columns"] = 9


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda f: (f / "y.npy").unlink(), "{f}/y.npy must be there (got no such file)"),
        (cut, "{f}/x.npy must have 2048 bytes (got 2044)"),
        (other_type, "{f}/y.npy must hold <i8 of shape [60] (got <f8 of shape [60])"),
        (
            lambda f: (f / "graph.json").write_text("{"),
            "{f}/graph.json must be readable JSON (JSONDecodeError)",
        ),
        (
            lambda f: edit(f, lambda about: about.pop("files")),
            "{f}/graph.json must list the files beside it",
        ),
        (
            lambda f: edit(f, lambda about: about["files"].update({"../x": {}})),
            "{f}/graph.json must list the files beside it",
        ),
        (
            lambda f: edit(f, other_shape),
            "the features must have the shape [60, 9], but graph.json lists others",
        ),
        (
            lambda f: edit(f, lambda about: about.pop("num_nodes")),
            "{f} must hold a readable graph (KeyError: 'num_nodes')",
        ),
        (
            lambda f: edit(f, lambda about: about["files"].pop("x")),
            "{f} must hold a readable graph (KeyError: 'x')",
        ),
    ],
)
def test_damage_is_one_sentence(folder: Path, damage: Callable[[Path], object], text: str) -> None:
    damage(folder)
    with pytest.raises(DamagedFileError) as caught:
        load_graph_folder(folder)
    assert str(caught.value) == text.format(f=folder) + CURE


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"kind": "a model"},
            "{f}/graph.json must say that this is a herofilter graph (got something else); "
            "make a graph folder with: herofilter pack GRAPH --out FOLDER",
        ),
        ({"format": 2}, "{f} must be of format 1 or older (got 2); upgrade herofilter"),
    ],
)
def test_other_folders_are_refused(folder: Path, change: dict, text: str) -> None:
    edit(folder, lambda about: about.update(change))
    with pytest.raises(DatasetError) as caught:
        load_graph_folder(folder)
    assert str(caught.value) == text.format(f=folder)


def test_a_file_of_objects_is_not_unpickled(folder: Path) -> None:
    np.save(folder / "y.npy", np.array([object()]), allow_pickle=True)
    size = (folder / "y.npy").stat().st_size
    edit(folder, lambda about: about["files"]["y"].update(bytes=size))
    with pytest.raises(DamagedFileError, match="must hold a readable graph"):
        load_graph_folder(folder)


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (
            float("nan"),
            False,
            "x must be finite (got 1 values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)",
        ),
        (
            70000.0,
            True,
            "x must lie within ±65504 to be kept in half precision (got 70000); "
            "scale the features or leave --half out",
        ),
    ],
)
def test_values_are_checked_before_they_are_kept(
    tmp_path: Path, value: float, half: bool, text: str
) -> None:
    data = graph()
    data.x[7, 3] = value
    with pytest.raises(GraphError) as caught:
        save_graph_folder(data, tmp_path / "graph", half)
    assert str(caught.value) == text
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_a_dataset(folder: Path) -> None:
    data = load_dataset(folder, split=1)
    assert torch.equal(data.train_mask, graph().train_mask[:, 1])
    with pytest.raises(HeroFilterError) as caught:
        load_dataset(folder, split="public")
    assert str(caught.value) == "a graph folder has numbered splits only (got 'public'); try 0"
    with pytest.raises(DatasetError) as caught:
        load_dataset(folder.parent / "absent")
    assert str(caught.value) == (
        f"{folder.parent}/absent must be a graph folder (got no graph.json in it); "
        "make one with: herofilter pack GRAPH --out FOLDER"
    )


def test_a_folder_without_masks_gets_ten_splits(tmp_path: Path) -> None:
    data = graph()
    for name in ("train_mask", "val_mask", "test_mask"):
        del data[name]
    save_graph_folder(data, tmp_path / "graph")
    found = load_dataset(tmp_path / "graph", split=None)
    assert found.train_mask.shape == (60, 10)
    assert found.variant == "random 48/32/20"


def test_a_dataset_wins_over_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_graph_folder(graph(), "karate")
    save_graph_folder(graph(), "mine")
    assert load_dataset("karate").num_nodes == 34
    assert load_dataset("./karate").num_nodes == 60
    assert load_dataset("mine").num_nodes == 60


@pytest.mark.parametrize(
    ("name", "at", "value", "said"),
    [
        ("x_crow", 3, -1, "x_crow.npy must ascend from 0 to"),
        ("x_crow", -1, 2**40, "x_crow.npy must ascend from 0 to"),
        ("x_col", 0, 2**30, "x_col.npy must have columns from 0 to 39"),
        ("x_col", 0, -1, "x_col.npy must have columns from 0 to 39"),
    ],
)
def test_rows_that_lead_nowhere(tmp_path: Path, name: str, at: int, value: int, said: str) -> None:
    data = csbm(num_nodes=60, num_classes=3, num_features=40, seed=3)
    data.x = data.x * (data.x > 2)
    save_graph_folder(data, tmp_path / "graph")
    array = np.load(tmp_path / "graph" / f"{name}.npy", mmap_mode="r+")
    array[at] = value
    array.flush()
    with pytest.raises(DamagedFileError, match=said):
        load_dataset(tmp_path / "graph").x.whole()


def test_a_header_that_is_no_python(folder: Path) -> None:
    content = (folder / "y.npy").read_bytes()
    (folder / "y.npy").write_bytes(content.replace(b"}", b"(", 1))
    with pytest.raises(DamagedFileError, match="must hold a readable graph"):
        load_graph_folder(folder)
