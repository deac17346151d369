"""How well one column alone tells the class: a look for columns that hold the answer."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.tables.column_kinds import Numeric
from herofilter.data.tables.column_ranges import column_ranges
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.list_kinds import Vector

_BINS = 32


def single_column_accuracy(data: Data, encoder: FeatureEncoder) -> dict[str, float]:
    """Return for each column the share of validation nodes whose class it tells alone.

    Numbers are put into up to 32 bins; for each bin, category or set of items the commonest class
    among the training nodes is predicted, and the commonest class of all for values that no
    training node has. So a column with a value for each row tells nothing. Vectors, such as
    embeddings, are left out. Only training and validation labels are read.

    Args:
        data: a graph with labels and one-dimensional ``train_mask`` and ``val_mask``.
        encoder: how the table's columns became the features.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"price": [1.0, 9.0, 1.5, 8.0], "noise": [2.0, 3.0, 2.0, 3.0]})
        >>> encoder = FeatureEncoder.fit(table, ["price", "noise"])
        >>> data = Data(x=encoder.transform(table, torch.empty(2, 0)), y=torch.tensor([0, 1, 0, 1]))
        >>> data.train_mask = torch.tensor([True, True, False, False])
        >>> data.val_mask = ~data.train_mask
        >>> single_column_accuracy(data, encoder)["price"]
        1.0
    """
    train, val = (data[name].nonzero().flatten().numpy() for name in ("train_mask", "val_mask"))
    # of compressed columns a block is cut out at once
    y, by_column = data.y.numpy(), sparse_rows(data.x).tocsc()
    kinds = {column.name: column for column in encoder.columns}
    found = {}
    for column in column_ranges(encoder, data.x.size(1)):
        kind = kinds.get(column.name)
        if kind is None or isinstance(kind, Vector):
            continue
        block = by_column[:, column.start : column.stop].tocsr()
        numeric = isinstance(kind, Numeric)
        codes = _binned(block.toarray(), train) if numeric else row_codes(block)
        found[column.name] = _conditional_majority(codes, y, train, val)
    return found


def row_codes(rows: sp.csr_array) -> np.ndarray:
    """Return a number for each row, the same for equal rows: ``[n]``.

    Example:
        >>> row_codes(sp.csr_array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]])).tolist()
        [0, 1, 0]
    """
    # equal rows have products with a random vector that are equal to the bit, since the entries
    # of a row are added one after the other; other rows by all odds don't
    weights = np.random.default_rng(0).standard_normal(rows.shape[1])
    codes: np.ndarray = np.unique(rows.astype(np.float64) @ weights, return_inverse=True)[1]
    return codes


def sparse_rows(x: Tensor) -> sp.csr_array:
    """Return features, dense or CSR, in compressed rows whose entries are in order."""
    if x.layout != torch.sparse_csr:
        return sp.csr_array(x.numpy())
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    rows = sp.csr_array(parts, shape=tuple(x.shape), copy=True)
    rows.sort_indices()
    return rows


def _binned(dense: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return the bin of each number, and a bin of its own for gaps."""
    values = dense[:, 0]
    typical = np.unique(np.quantile(values[train], np.linspace(0, 1, _BINS), method="lower"))
    # a number belongs to the nearest of them
    cuts = (typical[1:] + typical[:-1]) / 2
    codes = np.searchsorted(cuts, values, side="right")
    if dense.shape[1] > 1:
        codes[dense[:, 1] > 0] = cuts.size + 1
    return codes


def _conditional_majority(
    codes: np.ndarray, y: np.ndarray, train: np.ndarray, val: np.ndarray
) -> float:
    """Return the share of ``val`` that has the commonest class of its code in ``train``."""
    num_codes, num_classes = int(codes.max()) + 1, int(y.max()) + 1
    pairs = codes[train] * num_classes + y[train]
    counts = sp.csr_array(
        (np.ones(train.size), (pairs // num_classes, pairs % num_classes)),
        shape=(num_codes, num_classes),
    )
    commonest = int(np.bincount(y[train]).argmax())
    seen = np.unique(codes[train])
    answer = np.full(num_codes, commonest)
    answer[seen] = np.asarray(counts[seen].toarray()).argmax(axis=1)
    return float((answer[codes[val]] == y[val]).mean())
