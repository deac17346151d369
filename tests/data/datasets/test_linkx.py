import numpy as np
import pytest
import torch

from herofilter.data import check_graph, load_dataset
from herofilter.data.datasets.quantiles import even_quantile_classes
from herofilter.errors import DatasetError
from tests.data import raw_files
from tests.data.conftest import Folders


def linkx_labels(values: np.ndarray, num_classes: int) -> list[int]:
    """The rule as the LINKX paper states it, one interval after the other."""
    cuts = [
        -np.inf,
        *(np.nanquantile(values, (k + 1) / num_classes) for k in range(num_classes - 1)),
    ]
    labels = np.full(values.size, -1)
    for c, low in enumerate(cuts):
        labels[values >= low] = c
    return labels.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_even_quantiles(seed: int) -> None:
    years = np.random.default_rng(seed).integers(1970, 2000, 101).astype(float)
    years[::9] = np.nan
    classes = even_quantile_classes(years, 5)
    assert classes.tolist() == linkx_labels(years, 5)


def test_snap_patents(folders: Folders) -> None:
    raw_files.write_snap_patents(folders.data)
    for _ in range(2):
        data = load_dataset("snap-patents", split=4)
        assert data.x.layout == torch.sparse_csr
        dense = np.where(raw_files.features(6) > 0.5, raw_files.features(6), 0)
        assert np.array_equal(data.x.to_dense().numpy(), dense)
        assert torch.equal(data.edge_index, torch.from_numpy(raw_files.EDGES.T))
        assert torch.equal(data.y, torch.arange(30) // 6)
        check_graph(data, split_required=True)


def test_penn94(folders: Folders) -> None:
    raw_files.write_penn94(folders.data)
    data = load_dataset("penn94")
    assert torch.equal(data.y, torch.arange(30) % 3 - 1)
    expected = torch.cat(
        [torch.eye(2)[torch.arange(30) % 2], torch.eye(5)[torch.arange(30) % 5]], 1
    )
    assert torch.equal(data.x.to_dense(), expected)
    assert data.edge_index.shape == (2, 120)
    assert not (data.train_mask | data.val_mask | data.test_mask)[data.y < 0].any()
    check_graph(data, split_required=True)


@pytest.mark.parametrize("content", [b"", b"<html>quota exceeded</html>" * 40])
def test_file_that_is_no_mat_file(folders: Folders, content: bytes) -> None:
    path = raw_files.write_penn94(folders.data)
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        load_dataset("penn94")
    assert str(caught.value).startswith(
        f"{path} must be a readable file in facebook100's mat layout"
    )
    assert "\n" not in str(caught.value)
