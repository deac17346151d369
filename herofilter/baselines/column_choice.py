"""Which columns of wide features trees get to see."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

_AT_ONCE = 64


def as_columns(x: Tensor) -> Any:
    """Return features as an array of which columns can be read: a NumPy array, or CSC from CSR."""
    if x.layout != torch.sparse_csr:
        return x.numpy()
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sp.csc_array(sp.csr_array(parts, shape=tuple(x.shape)))


def dense(columns: Any, chosen: np.ndarray) -> np.ndarray:
    """Return some columns as a dense array ``[n, c]``, float32."""
    found = columns[:, chosen]
    array = found if isinstance(found, np.ndarray) else found.toarray()
    return np.ascontiguousarray(array, dtype=np.float32)


def choose_columns(
    width: int, most: int, block: Callable[[np.ndarray], np.ndarray], y: np.ndarray
) -> np.ndarray:
    r"""Return the ``most`` columns whose means differ most between classes, in ascending order.

    The measure is that of the analysis of variance, on training nodes alone: the share of a
    column's variance that lies between the classes. Up to ``most`` columns are all kept, and no
    label is read.

    Args:
        width: the number of columns.
        most: how many to keep at most.
        block: returns the values ``[m, c]`` of some columns for the training nodes.
        y: the labels ``[m]`` of the training nodes.

    Example:
        >>> x = np.array([[1.0, 0.0], [1.0, 1.0], [1.1, 0.0], [1.0, 1.0]])
        >>> choose_columns(2, 1, lambda columns: x[:, columns], np.array([0, 1, 0, 1]))
        array([1])
    """
    columns = np.arange(width)
    if width <= most:
        return columns
    scores = np.empty(width)
    for first in range(0, width, _AT_ONCE):
        part = columns[first : first + _AT_ONCE]
        scores[part] = _between_share(block(part).astype(np.float64), y)
    # equal scores keep the order of the columns
    best: np.ndarray = np.sort(np.argsort(-scores, kind="stable")[:most])
    return best


def _between_share(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    values = values - values.mean(axis=0)
    classes, number, size = np.unique(y, return_inverse=True, return_counts=True)
    member = np.zeros((classes.size, y.size))
    member[number, np.arange(y.size)] = 1
    between = (np.square(member @ values) / size[:, None]).sum(axis=0)
    total = np.square(values).sum(axis=0)
    share: np.ndarray = np.zeros_like(total)
    np.divide(between, total, out=share, where=total > 1e-12)
    return share
