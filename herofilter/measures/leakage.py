"""Leakage between parts: test nodes whose features a training node has as well."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.tables.column_ranges import column_ranges
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.list_kinds import Vector
from herofilter.measures.single_columns import row_codes, sparse_rows


def repeated_test_rows(data: Data) -> int:
    """Count the test nodes whose feature row also belongs to a training node.

    Rows of zeros aren't counted. The masks must be one-dimensional, as
    :func:`herofilter.data.select_split` returns them.

    Example:
        >>> data = Data(x=torch.tensor([[1.0, 2.0], [1.0, 2.0], [3.0, 0.0]]))
        >>> data.train_mask = torch.tensor([True, False, False])
        >>> data.test_mask = torch.tensor([False, True, True])
        >>> repeated_test_rows(data)
        1
    """
    rows = _sparse(data.x)
    seen = set(_keys(rows, data.train_mask))
    return sum(key in seen for key in _keys(rows, data.test_mask) if key)


def repeats_by_chance(data: Data, encoder: FeatureEncoder, seed: int = 0) -> int:
    """Count what :func:`repeated_test_rows` counts after each column of the table was shuffled.

    Coarse columns repeat by themselves: of people with an age and a country many agree in both.
    Rows that agree more often than those of the shuffled table stand in it twice. Vectors, such as
    embeddings, never agree by chance.

    Args:
        data: as for :func:`repeated_test_rows`.
        encoder: how the table's columns became the features.
        seed: of the shuffles.
    """
    draw = np.random.default_rng(seed)
    # of compressed columns a block is cut out at once
    by_column, total = sparse_rows(data.x).tocsc(), np.zeros(data.x.size(0))
    vectors = {column.name for column in encoder.columns if isinstance(column, Vector)}
    for column in column_ranges(encoder, data.x.size(1)):
        codes = row_codes(by_column[:, column.start : column.stop].tocsr())
        if column.name in vectors:
            codes = np.arange(codes.size)
        # equal sums of these values are, by all odds, equal rows
        values = draw.standard_normal(codes.size)
        total += values[draw.permutation(codes)]
    # to 12 digits, since sums differ by rounding errors
    train, test = (total[data[name].numpy()].round(12) for name in ("train_mask", "test_mask"))
    return int(np.isin(test, train).sum())


def _sparse(x: Tensor) -> sp.csr_array:
    if x.layout == torch.sparse_csr:
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
        rows = sp.csr_array(parts, shape=tuple(x.shape), copy=True)
    else:
        rows = sp.csr_array(x.numpy())
    # equal rows must have equal bytes
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _keys(rows: sp.csr_array, mask: Tensor) -> list[bytes]:
    columns = rows.indices.astype(np.int64)
    bounds = zip(rows.indptr[:-1][mask.numpy()], rows.indptr[1:][mask.numpy()], strict=True)
    return [columns[i:j].tobytes() + rows.data[i:j].tobytes() for i, j in bounds]
