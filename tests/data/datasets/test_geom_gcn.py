import hashlib
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from herofilter.data import check_graph, load_dataset
from herofilter.data.datasets.planetoid import planetoid_files
from herofilter.errors import DatasetError
from tests.data import raw_files
from tests.data.conftest import Folders

PLACES = {
    "texas": ("texas/raw", "texas"),
    "squirrel": ("squirrel/geom_gcn/raw", "squirrel"),
    "actor": ("actor/raw", "film"),
}


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("name", PLACES)
def test_text_files(
    folders: Folders, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # PyG is silent while this is set; users don't set it
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    folder, prefix = PLACES[name]
    raw_files.write_texts(folders.data / folder, prefix)
    before = {path: path.stat().st_mtime_ns for path in folders.data.rglob("*")}
    data = load_dataset(name, split=4)
    assert torch.equal(data.y, torch.arange(30) % 3)
    assert torch.equal(data.test_mask, torch.from_numpy(raw_files.thirds(10)["test_masks"][4]))
    assert data.edge_index.shape == (2, 60)
    assert data.x.shape == (30, 2)
    assert (data.name, data.variant) == (name, "geom-gcn 48/32/20")
    check_graph(data, split_required=True)
    assert {path: path.stat().st_mtime_ns for path in folders.data.rglob("*")} == before
    assert capfd.readouterr() == ("", "")


def test_damaged_text(folders: Folders) -> None:
    raw_files.write_texts(folders.data / "texas/raw", "texas")
    (folders.data / "texas/raw/out1_graph_edges.txt").write_text("a\tb\nfoo\tbar\n\n")
    with pytest.raises(DatasetError, match="must be a readable file in the layout of the original"):
        load_dataset("texas")


@pytest.mark.parametrize("split", [0, "public"])
def test_unknown_pickle_is_never_opened(folders: Folders, tmp_path: Path, split: int | str) -> None:
    mark = tmp_path / "exploded"
    kind = "public" if split == "public" else "geom-gcn"
    for file in planetoid_files("Cora", kind):
        path = folders.data / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(DatasetError) as caught:
        load_dataset("cora", split=split)
    first = planetoid_files("Cora", kind)[0]
    found = hashlib.sha256(pickle.dumps(Bomb(mark))).hexdigest()
    assert str(caught.value) == (
        f"{first.path} must have the SHA-256 {first.sha256} (got {found}), because it is a pickle "
        "and pickles can run code; replace it with the original"
    )
    assert not mark.exists()


def test_every_planetoid_pickle_has_a_checksum() -> None:
    for name in ("Cora", "CiteSeer", "PubMed"):
        public, geom_gcn = (planetoid_files(name, split) for split in ("public", "geom-gcn"))
        assert len(public) == 8
        assert all(file.sha256 for file in public)
        assert [file.sha256 for file in geom_gcn[:8]] == [file.sha256 for file in public]
        assert len(geom_gcn) == 18


def test_karate() -> None:
    data = load_dataset("karate", split=9)
    check_graph(data, split_required=True)
    assert np.unique(data.y.numpy()).tolist() == [0, 1, 2, 3]
