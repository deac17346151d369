"""Two large graphs of the LINKX collection: snap-patents and Penn94."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from scipy.io import loadmat
from scipy.io.matlab import MatReadError
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.datasets.quantiles import even_quantile_classes
from herofilter.data.datasets.storage import RawFile, reading
from herofilter.data.features import csr_tensor
from herofilter.data.splits import random_splits

FRACTIONS = (0.50, 0.25, 0.25)
SNAP_PATENTS = RawFile(
    "snap-patents/snap_patents.mat",
    "https://drive.usercontent.google.com/download?id=1ldh23TSY1PwXia6dU0MYcpyEgX-w3Hia&confirm=t",
)
PENN94 = RawFile(
    "penn94/Penn94.mat",
    "https://github.com/CUAI/Non-Homophily-Large-Scale/raw/master/data/facebook100/Penn94.mat",
)


def read_snap_patents(paths: Mapping[str, Path]) -> Data:
    """Read the patent citations; classes are five even quantiles of the year, features sparse."""
    path = paths[SNAP_PATENTS.path]
    with reading(path, "LINKX's mat layout"):
        content = _load(path)
        data = Data(
            edge_index=torch.from_numpy(np.asarray(content["edge_index"]).astype(np.int64)),
            x=_csr(content["node_feat"]),
            y=even_quantile_classes(np.asarray(content["years"], dtype=np.float64).ravel(), 5),
            num_nodes=int(np.asarray(content["num_nodes"]).item()),
        )
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 5, FRACTIONS)
    return data


def read_penn94(paths: Mapping[str, Path]) -> Data:
    """Read the friendships at one university; the class is the gender, unknown ones are -1.

    The features are the other columns of the profile, each one-hot, kept sparse: six of some
    4,800 entries of a row aren't zero.
    """
    path = paths[PENN94.path]
    with reading(path, "facebook100's mat layout"):
        content = _load(path)
        profile = np.asarray(content["local_info"]).astype(np.int64)
        links = sp.coo_array(content["A"])
        edges = np.stack([links.row, links.col]).astype(np.int64)
        others = np.delete(profile, 1, axis=1)
        data = Data(
            edge_index=torch.from_numpy(edges),
            x=_csr(sp.hstack([_one_hot(column) for column in others.T])),
            y=torch.from_numpy(profile[:, 1] - 1),
            num_nodes=profile.shape[0],
        )
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 5, FRACTIONS)
    return data


def _load(path: Path) -> dict[str, object]:
    try:
        content: dict[str, object] = loadmat(path)
    except MatReadError as error:
        raise ValueError(str(error)) from error
    return content


def _one_hot(column: np.ndarray) -> sp.csr_array:
    known, index = np.unique(column, return_inverse=True)
    ones = np.ones(column.size, dtype=np.float32)
    return sp.csr_array((ones, (np.arange(column.size), index)), shape=(column.size, known.size))


def _csr(matrix: object) -> Tensor:
    rows = sp.csr_array(matrix)
    rows.sort_indices()
    return csr_tensor(
        torch.from_numpy(rows.indptr.astype(np.int64)),
        torch.from_numpy(rows.indices.astype(np.int64)),
        torch.from_numpy(rows.data.astype(np.float32)),
        rows.shape,
    )
