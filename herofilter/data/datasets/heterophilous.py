"""Graphs in the npz layout of the heterophilous-graphs collection, the user's files too."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from herofilter.data.checks import MASKS, check_graph
from herofilter.data.datasets.storage import RawFile, reading
from herofilter.data.datasets.sums import known_sums
from herofilter.data.graph_path import check_npz_file
from herofilter.data.npz_file import array_names, read_arrays
from herofilter.data.splits import random_splits
from herofilter.errors import DatasetError

_URL = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
_REQUIRED = ("edges", "node_labels")
_MASK_KEYS = ("train_masks", "val_masks", "test_masks")
_KEYS = (*_REQUIRED, *_MASK_KEYS, "node_features", "directed")


def npz_file(folder: str, stem: str) -> RawFile:
    """Return the one file of a graph of that collection."""
    path = f"{folder}/{stem}.npz"
    return RawFile(path, f"{_URL}/{stem}.npz", known_sums().get(path))


def read_npz(path: str | Path) -> Data:
    """Read a graph from an npz file, without unpickling anything.

    Keys: ``edges`` of shape ``[m, 2]``; ``node_labels`` of shape ``[n]``, -1 for unlabelled;
    and, if you have them, ``node_features`` of shape ``[n, f]`` and ``train_masks``,
    ``val_masks``, ``test_masks`` of shape ``[splits, n]``. Edges run both ways, however they
    are listed, unless the file also holds ``directed`` = True. Without masks there are ten random
    stratified splits of 48/32/20.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "mine.npz"
        >>> np.savez(file, edges=[[0, 1], [1, 2]], node_labels=[0, 1, 0])
        >>> read_npz(file).edge_index.shape
        torch.Size([2, 4])
    """
    return _read(Path(path))


def read_collected(paths: Mapping[str, Path], directed: bool = False) -> Data:
    """Read the one file of a named graph of the collection.

    ``directed`` keeps directions; the files of the collection don't say whether they have any.
    """
    (path,) = paths.values()
    data = _read(path, directed)
    # the registry knows better which splits these are
    del data.variant
    return data


def _read(file: Path, directed: bool = False) -> Data:
    check_npz_file(file)
    with reading(file, "numpy's npz layout"):
        arrays = read_arrays(file, _KEYS)
        # foreign names may have line ends in them
        others = sorted(" ".join(name.split()) for name in array_names(file)[:20])
    missing = [key for key in _REQUIRED if key not in arrays]
    given_masks = [key for key in _MASK_KEYS if key in arrays]
    if given_masks:
        missing += [key for key in _MASK_KEYS if key not in arrays]
    if missing:
        raise DatasetError(
            f"{file} must hold {', '.join(missing)} (it holds {', '.join(others)}); "
            "read_npz lists the keys of the layout"
        )
    given = arrays.get("directed", np.array(False))
    if given.size != 1 or given.dtype.kind not in "biu":
        raise DatasetError(
            f"directed in {file} must be true or false (got {given.dtype} of shape "
            f"{list(given.shape)}); save it as directed=True, or leave it out"
        )
    directed = directed or bool(given.item())
    return _graph(file, arrays, seeded=not given_masks, directed=directed)


def _graph(file: Path, arrays: dict[str, np.ndarray], *, seeded: bool, directed: bool) -> Data:
    with reading(file, "the layout that read_npz describes"):
        y = torch.from_numpy(_shaped(arrays, "node_labels", (1,)))
        # native byte order, which torch wants
        pairs = _shaped(arrays, "edges", (1, 2)).astype(np.int64, casting="same_kind")
        if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
            raise ValueError(f"edges must have the shape [m, 2], not {list(pairs.shape)}")
        edges = torch.from_numpy(pairs.reshape(-1, 2))
        data = Data(edge_index=edges.t().contiguous(), y=y, num_nodes=y.size(0))
        if "node_features" in arrays:
            features = _shaped(arrays, "node_features", (2,))
            data.x = torch.from_numpy(features.astype(np.float32, casting="same_kind"))
        for name, key in () if seeded else zip(MASKS, _MASK_KEYS, strict=True):
            data[name] = _mask(_shaped(arrays, key, (1, 2)))
    data.name = file.stem
    data.variant = "random 48/32/20" if seeded else "splits of the file"
    check_graph(data)
    data.y = y.long()
    if not directed:
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
    if seeded:
        data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 10)
    return data


def _shaped(arrays: Mapping[str, np.ndarray], key: str, sizes: tuple[int, ...]) -> np.ndarray:
    """Return an array of numbers with one of some numbers of dimensions."""
    array = arrays[key]
    if array.ndim not in sizes or array.dtype.kind not in "biuf":
        raise ValueError(f"{key} can't be {array.dtype} of shape {list(array.shape)}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _mask(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.atleast_2d(array)).to(torch.bool).t().contiguous()
