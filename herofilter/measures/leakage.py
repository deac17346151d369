"""Leakage between parts: test nodes whose features a training node has as well."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data


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
