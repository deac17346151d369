import numpy as np
import pytest
import torch

from herofilter.data import check_graph, load_dataset, on_disk
from herofilter.errors import DatasetError, MissingExtraError
from tests.data import raw_files
from tests.data.conftest import Folders


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


def test_absent_archive_needs_the_extra(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ogb.utils.url", None)
    assert not on_disk("ogbn-arxiv")
    with pytest.raises(MissingExtraError) as caught:
        load_dataset("ogbn-arxiv")
    assert str(caught.value) == (
        f"ogbn-arxiv, which is neither in HEROFILTER_DATA nor in {folders.cache / 'raw'}, must be "
        "downloaded, which needs the optional part 'ogb', which isn't installed; "
        'install it with: pip install "herofilter[ogb]"'
    )
