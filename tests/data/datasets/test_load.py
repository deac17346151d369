import numpy as np
import pytest
import torch

from herofilter.data import check_graph, list_datasets, load_dataset, on_disk
from herofilter.errors import ConfigError, DatasetError
from tests.data.conftest import Folders


def test_every_dataset_describes_itself() -> None:
    infos = list_datasets()
    assert len({info.name for info in infos}) == len(infos) == 26
    for info in infos:
        assert info.description
        assert info.variant
        assert info.num_splits >= 1
        assert info.files or info.family == "built in"


def test_unknown_name() -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("Roman_empire")
    text = str(caught.value)
    assert text.startswith("the dataset must be one of cora, citeseer, pubmed, texas")
    assert text.endswith("(got 'Roman_empire') (did you mean 'roman-empire'?)")
    with pytest.raises(DatasetError, match=r"\(got 'zzzz'\)$"):
        on_disk("zzzz")


@pytest.mark.parametrize(
    ("name", "split", "text"),
    [
        ("cora", 10, "split of cora must be a number from 0 to 9, 'public' or None (got 10)"),
        ("cora", "ogb", "split of cora must be a number from 0 to 9, 'public' or None (got 'ogb')"),
        ("texas", -1, "split of texas must be a number from 0 to 9 or None (got -1)"),
        ("texas", 0.5, "split of texas must be a number from 0 to 9 or None (got 0.5)"),
        ("arxiv-structure", 1, "split of arxiv-structure must be 0, 'ogb' or None (got 1)"),
        ("penn94", 5, "split of penn94 must be a number from 0 to 4 or None (got 5)"),
    ],
)
def test_unknown_split(folders: Folders, name: str, split: object, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_dataset(name, split=split)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["karate", "csbm"])
def test_built_in_graphs_need_no_files(folders: Folders, name: str) -> None:
    assert on_disk(name)
    everything = load_dataset(name, split=None)
    assert everything.train_mask.size(1) == 10
    one = load_dataset(name, split=np.int64(6))
    assert torch.equal(one.train_mask, everything.train_mask[:, 6])
    check_graph(one, split_required=True)
    assert one.name == name
    assert not folders.cache.exists()
