import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from herofilter.data import (
    DiskFeatures,
    disk_features as module,
    load_graph_folder,
    row_normalise,
    save_graph_folder,
)
from herofilter.data.features import to_sparse
from herofilter.errors import GraphError
from tests.awkward import plain


def matrix(dense: bool) -> Tensor:
    x = torch.randn(200, 7)
    return x if dense else torch.where(torch.rand(200, 7) < 0.25, x, 0)


def on_disk(folder: Path, x: Tensor) -> DiskFeatures:
    data = plain()
    data.num_nodes, data.x = x.size(0), x
    for name in ("y", "train_mask", "val_mask", "test_mask"):
        data.pop(name, None)
    save_graph_folder(data, folder)
    return load_graph_folder(folder).x


@pytest.mark.parametrize("dense", [True, False])
def test_rows_are_those_of_the_matrix(tmp_path: Path, dense: bool) -> None:
    x = matrix(dense)
    nodes = torch.tensor([5, 0, 199, 5])
    found = on_disk(tmp_path / "graph", x).rows(nodes)
    assert (found.layout == torch.strided) is dense
    assert torch.equal(found if dense else found.to_dense(), x[nodes])


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_rows_are_scaled_as_the_whole_would_be(tmp_path: Path, dense: bool, times: int) -> None:
    x = matrix(dense)
    x[3] = 0
    found = on_disk(tmp_path / "graph", x)
    expected = x if dense else to_sparse(x)
    for _ in range(times):
        found, expected = found.scaled(), row_normalise(expected)
    rows = found.rows(torch.arange(200))
    assert torch.equal(*(part if dense else part.to_dense() for part in (rows, expected)))


def test_chunks_are_all_rows_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix(True)
    found = on_disk(tmp_path / "graph", x)
    monkeypatch.setattr(module, "CHUNK_BYTES", 4 * 7 * 30)
    # pages are given back after every chunk, and are there again for the next
    monkeypatch.setattr(module, "MAPPED_BYTES", 30 * 2**16)
    parts = list(found.chunks())
    assert [len(part) for part in parts] == [30] * 6 + [20]
    assert torch.equal(torch.cat(parts), x)
    assert torch.equal(found.whole(), x)


@pytest.mark.parametrize("dense", [True, False])
def test_any_other_operation_reads_the_whole(tmp_path: Path, dense: bool) -> None:
    x = matrix(dense)
    found = on_disk(tmp_path / "graph", x)
    weight = torch.randn(7, 3)
    assert torch.equal(found @ weight, x @ weight)
    assert torch.equal(found[[4, 2]], x[[4, 2]])
    assert (np.asarray(found) == x.numpy()).all()
    # compressed rows are added up in another order
    torch.testing.assert_close(found.scaled() * 2, row_normalise(x) * 2)


def test_counting_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = matrix(False)
    found = on_disk(tmp_path / "graph", x)
    monkeypatch.setattr(DiskFeatures, "rows", None)
    assert int(torch.count_nonzero(found)) == int(torch.count_nonzero(x))


def test_writing_is_refused(tmp_path: Path) -> None:
    found = on_disk(tmp_path / "graph", matrix(True))
    with pytest.raises(GraphError) as caught:
        found.mul_(2)
    assert str(caught.value) == (
        "features on disk must stay as they are (got an operation that writes to them); "
        "work on a copy in memory: data.x.whole()"
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(2),
        lambda x: x.__setitem__(0, 1.0),
        lambda x: torch.add(torch.zeros(x.shape), 1, out=x),
        lambda x: torch.nn.init.zeros_(x),
        lambda x: x.resize_(2, 2),
    ],
    ids=["in place", "item", "out", "init", "resize"],
)
def test_every_way_of_writing_is_refused(tmp_path: Path, write: Callable[[Tensor], None]) -> None:
    found = on_disk(tmp_path / "graph", matrix(True))
    with pytest.raises(GraphError, match="features on disk must stay as they are"):
        write(found)


def test_no_operation_sees_anything_but_the_file(tmp_path: Path) -> None:
    x = matrix(True)
    found = on_disk(tmp_path / "graph", x)
    assert torch.equal(torch.cat([found, found[:1]]), torch.cat([x, x[:1]]))
    assert torch.equal(torch.nn.functional.linear(found, x[:2]), x @ x[:2].T)
    assert torch.equal(torch.where(x > 0, found, 0.0), torch.where(x > 0, x, 0.0))
    # nothing is copied by what changes nothing
    for same in (found.to("cpu"), found.contiguous(), found.float(), found.detach(), found.cpu()):
        assert isinstance(same, DiskFeatures)
    assert not (found != found).any()


def test_copies_and_pickles_are_paths_and_not_values(tmp_path: Path) -> None:
    x = torch.randn(2000, 50)
    found = on_disk(tmp_path / "graph", x).scaled()
    data = load_graph_folder(tmp_path / "graph")
    data.x = found
    content = pickle.dumps(found)
    assert len(content) < 1000
    for other in (pickle.loads(content), copy.deepcopy(data).x, data.clone().x):
        assert isinstance(other, DiskFeatures)
        assert torch.equal(other.rows(torch.tensor([9])), row_normalise(x[[9]]))
