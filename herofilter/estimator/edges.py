"""Edges between the rows of a matrix: as an array, a data frame or a sparse matrix."""

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.data.tables.read_table import read_table
from herofilter.data.tables.table_columns import find_ends, usual_weight
from herofilter.errors import ConfigError, GraphError


def read_edges(edges: Any, weights: Any = None) -> tuple[Tensor, Tensor | None]:
    """Return edges as an int64 tensor ``[2, m]``, and their weights, if there are any.

    ``edges`` holds row numbers: an array ``[2, m]`` or ``[m, 2]`` (one that is both, of shape
    ``[2, 2]``, is read as ``[2, m]``); a data frame with the columns source and target, or else
    the first two, and perhaps one called weight; or a square sparse matrix, whose entries are
    weights. Anything empty stands for no edges.

    Example:
        >>> read_edges([(0, 1), (1, 2), (0, 2)])[0]
        tensor([[0, 1, 0],
                [1, 2, 2]])
    """
    if is_frame(edges):
        index, own = _of_frame(edges)
    elif sp.issparse(edges):
        index, own = _of_matrix(edges)
    else:
        index, own = _of_array(edges), None
    if weights is None:
        return index, own
    if own is not None:
        raise ConfigError(
            "the weights of edges must be given once (got edge_weight, and edges with weights); "
            "leave one of them out"
        )
    return index, torch.as_tensor(weights if isinstance(weights, Tensor) else np.asarray(weights))


def check_ends(edge_index: Tensor, rows: int) -> None:
    """Raise a :class:`GraphError` if an edge ends beyond the rows of X."""
    if edge_index.dtype == torch.long and edge_index.dim() == 2 and edge_index.numel():
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= rows:
            raise GraphError(
                f"edges must join rows of X, which are 0 to {rows - 1} (got {low} to {high}); "
                "number the nodes from 0 or, to train on some rows of a graph, give graph= to the "
                "constructor and node indices as X"
            )


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame: of pandas, of Arrow, or of a library like Polars."""
    pandas = sys.modules.get("pandas")
    if isinstance(value, pa.Table) or (pandas is not None and isinstance(value, pandas.DataFrame)):
        return True
    return hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__")


def _of_array(edges: Any) -> Tensor:
    try:
        index = torch.as_tensor(edges if isinstance(edges, Tensor) else np.asarray(edges))
    except (TypeError, ValueError) as error:
        raise GraphError(
            f"edge_index must be two rows or two columns of row numbers ({error}); "
            "read tables of ids with read_graph or from_pandas"
        ) from error
    if not index.numel():
        return torch.empty(2, 0, dtype=torch.long)
    if index.dim() == 2 and index.size(0) != 2 and index.size(1) == 2:
        index = index.t().contiguous()
    # a wrong type is left to the check of the graph, which names it
    integral = not index.is_floating_point() and index.dtype != torch.bool
    return index.long() if integral else index


def _of_frame(frame: Any) -> tuple[Tensor, Tensor | None]:
    table = read_table(frame, "edges")
    source, target, _ = find_ends(table.column_names, "source", "target")
    weight = usual_weight([name for name in table.column_names if name not in (source, target)])
    index = np.stack([_row_numbers(name, table[name]) for name in (source, target)])
    if weight is None:
        return torch.from_numpy(index), None
    column = table[weight]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise GraphError(
            f"the column {weight!r} of the edges must hold numbers (got {column.type}); convert "
            "it, or leave it out"
        )
    return torch.from_numpy(index), torch.from_numpy(column.to_numpy().astype(np.float32))


def _row_numbers(name: str, column: pa.ChunkedArray) -> np.ndarray:
    empty = not len(column)
    if column.null_count or not (pa.types.is_integer(column.type) or empty):
        got = "missing values" if column.null_count else f"{column.type}, such as {column[0]!s}"
        raise GraphError(
            f"the column {name!r} of the edges must hold row numbers of X, from 0 (got {got}); "
            "number the nodes, or read tables of ids with from_pandas"
        )
    numbers: np.ndarray = np.zeros(0, np.int64) if empty else column.to_numpy().astype(np.int64)
    return numbers


def _of_matrix(matrix: Any) -> tuple[Tensor, Tensor | None]:
    entries = sp.coo_array(matrix)
    if entries.shape[0] != entries.shape[1]:
        raise GraphError(
            "a sparse matrix of edges must be square, a row and a column per node "
            f"(got shape {list(entries.shape)}); give an array of row numbers otherwise"
        )
    there = entries.data != 0
    index = torch.from_numpy(np.stack([entries.row[there], entries.col[there]]).astype(np.int64))
    values = entries.data[there].astype(np.float32)
    return index, None if (values == 1).all() else torch.from_numpy(values)
