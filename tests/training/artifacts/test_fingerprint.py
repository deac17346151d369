import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import DiskFeatures, load_graph_folder, save_graph_folder, to_sparse
from herofilter.training.artifacts import fingerprint as module
from herofilter.training.artifacts.fingerprint import fingerprint
from tests.training.graphs import graph


@pytest.mark.parametrize("name", ["x", "y", "edge_index", "train_mask", "val_mask", "test_mask"])
def test_every_part_counts(name: str) -> None:
    data, other = graph(), graph()
    assert fingerprint(data) == fingerprint(other)
    value = other[name].view(-1)
    value[-1] = ~value[-1] if value.dtype == torch.bool else value[-1] + 1
    assert fingerprint(data) != fingerprint(other)


def test_kinds_and_shapes_count() -> None:
    values = [
        torch.arange(6),
        torch.arange(6).view(2, 3),
        torch.arange(6, dtype=torch.int32),
        np.arange(6).reshape(3, 2),
        "text",
        7,
    ]
    found = {fingerprint(Data(part=value)) for value in values}
    assert len(found) == len(values)
    assert len({fingerprint(Data(part=torch.ones(2))), fingerprint(Data(other=torch.ones(2)))}) == 2


def test_sparse_features_count() -> None:
    dense = graph().x * (graph().x > 1)
    changed = dense.clone()
    changed[dense > 0] += 1
    one, other = (fingerprint(Data(x=to_sparse(x))) for x in (dense, changed))
    assert one == fingerprint(Data(x=to_sparse(dense.clone()))) != other


def test_a_large_array_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCKS", 3)
    monkeypatch.setattr(module, "BLOCK", 2)
    seen = []
    for place in range(20):
        value = torch.zeros(20)
        value[place] = 1
        seen.append(fingerprint(Data(x=value)) != fingerprint(Data(x=torch.zeros(20))))
    assert [place for place, told in enumerate(seen) if told] == [0, 1, 9, 10, 18, 19]


def test_features_on_disk_are_not_read_whole(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_graph_folder(graph(), tmp_path / "one")
    data = load_graph_folder(tmp_path / "one")
    changed = graph()
    changed.x[3, 1] += 1
    save_graph_folder(changed, tmp_path / "other")

    def whole(self: DiskFeatures) -> None:
        raise AssertionError("all rows were read")

    monkeypatch.setattr(DiskFeatures, "whole", whole)
    assert fingerprint(data) == fingerprint(load_graph_folder(tmp_path / "one"))
    assert fingerprint(data) != fingerprint(load_graph_folder(tmp_path / "other"))
