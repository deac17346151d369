import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import requests
import torch

from herofilter.data import check_graph, load_dataset, on_disk
from herofilter.errors import DatasetError
from tests.data import raw_files
from tests.data.conftest import Answer, Folders


def test_ogbn_arxiv_with_random_and_official_splits(folders: Folders) -> None:
    raw_files.write_ogb(folders.data)
    data = load_dataset("ogbn-arxiv", split=2)
    assert torch.equal(data.x, torch.from_numpy(raw_files.features()))
    assert torch.equal(data.edge_index, torch.from_numpy(raw_files.EDGES.T))
    assert torch.equal(data.y, torch.arange(30) % 4)
    assert data.variant == "random 48/32/20"
    check_graph(data, split_required=True)
    official = load_dataset("ogbn-arxiv", split="ogb")
    assert official.variant == "OGB's split by time"
    assert official.train_mask.nonzero().flatten().tolist() == list(range(20))
    assert official.test_mask.nonzero().flatten().tolist() == list(range(25, 30))


def test_arxiv_year_says_whose_splits_it_has(folders: Folders) -> None:
    raw_files.write_ogb(folders.data)
    seeded = load_dataset("arxiv-year", split=None)
    assert seeded.variant == "five random 50/25/25 splits, LINKX's weren't at hand"
    assert seeded.train_mask.shape == (30, 5)
    assert torch.equal(seeded.y, torch.arange(30) // 6)
    raw_files.write_arxiv_structure(folders.data)
    known = load_dataset("arxiv-year", split=1)
    assert known.variant == "LINKX's five 50/25/25 splits"
    assert torch.equal(known.val_mask, torch.from_numpy(raw_files.thirds(5)["val_masks"][1]))


def test_structure_only(folders: Folders) -> None:
    raw_files.write_arxiv_structure(folders.data)
    subjects = load_dataset("arxiv-structure", split="ogb")
    assert subjects.x is None
    assert subjects.num_nodes == 30
    assert torch.equal(subjects.y, torch.arange(30) % 4)
    assert int(subjects.train_mask.sum()) == 20
    assert torch.equal(load_dataset("arxiv-structure").val_mask, subjects.val_mask)
    assert load_dataset("arxiv-structure", split=None).val_mask.shape == (30, 1)
    years = load_dataset("arxiv-year-structure", split=4)
    assert torch.equal(years.y, torch.arange(30) // 6)
    assert torch.equal(years.test_mask, torch.from_numpy(raw_files.thirds(5)["test_masks"][4]))
    check_graph(years, split_required=True)


def test_missing_key(folders: Folders) -> None:
    path = raw_files.write_arxiv_structure(folders.data)
    np.savez(path, edge_index=raw_files.EDGES.T)
    with pytest.raises(DatasetError, match=r"arxiv\.npz must be a readable file in the layout of"):
        load_dataset("arxiv-structure")


def archive(folder: Path, *absent: str) -> bytes:
    """Return OGB's archive of the tiny graph, without some files."""
    raw_files.write_ogb(folder)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for path in (folder / "ogbn-arxiv").rglob("*.csv.gz"):
            name = path.relative_to(folder / "ogbn-arxiv").as_posix()
            if name not in absent:
                target.write(path, f"arxiv/{name}")
        target.writestr("arxiv/../../escaped.txt", "no")
    return packed.getvalue()


def test_the_archive_is_downloaded_and_unpacked(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content, asked = archive(tmp_path / "elsewhere"), []

    def answer(url: str, **_: object) -> Answer:
        asked.append(url)
        return Answer(content)

    monkeypatch.setattr(requests, "get", answer)
    assert not on_disk("ogbn-arxiv")
    assert torch.equal(load_dataset("ogbn-arxiv").y, torch.arange(30) % 4)
    assert asked == ["https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"]
    assert on_disk("ogbn-arxiv")
    kept = sorted(path.name for path in (folders.cache / "raw").rglob("*") if path.is_file())
    assert len(kept) == 7
    assert not [*tmp_path.rglob("escaped.txt"), *tmp_path.rglob("*.part")]


@pytest.mark.parametrize("kind", ["no archive", "without a file", "cut"])
def test_an_odd_archive_is_one_sentence(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    content = archive(tmp_path / "elsewhere", "raw/edge.csv.gz")
    content = {"no archive": b"<html>", "cut": content[:-200]}.get(kind, content)
    monkeypatch.setattr(requests, "get", lambda *_, **__: Answer(content))
    with pytest.raises(DatasetError, match="the download failed: the archive can't be read") as end:
        load_dataset("ogbn-arxiv")
    assert "\n" not in str(end.value)
