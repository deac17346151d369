"""The features of nodes from a matrix or a data frame, read as in training."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from herofilter.data.tables.arrays import feature_tensor
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.read_table import read_table
from herofilter.errors import GraphError, did_you_mean
from herofilter.estimator.edges import is_frame


@dataclass(frozen=True)
class FeatureReader:
    """How X becomes features: a matrix as it is, a data frame by an encoder of its columns.

    Args:
        width: the number of columns of X in training.
        names: of these columns; None if X was a matrix.
        encoder: how the columns become features; None if X was a matrix.

    Example:
        >>> reader, x = FeatureReader.fit(pa.table({"age": [20, 40], "town": ["A", "B"]}))
        >>> x
        tensor([[-1.,  1.,  0.],
                [ 1.,  0.,  1.]])
        >>> reader.read(pa.table({"town": ["B"], "age": [30]}))
        tensor([[0., 0., 1.]])
    """

    width: int
    names: tuple[str, ...] | None = None
    encoder: FeatureEncoder | None = None

    @classmethod
    def fit(cls, X: Any, edge_index: Tensor | None = None) -> "tuple[FeatureReader, Tensor]":
        """Return a reader of later matrices or frames, and the features of X."""
        if not is_frame(X):
            x = _matrix(X)
            # what the caller later writes into X must not change the fitted graph
            return cls(x.size(1)), x.clone()
        table, edges = _table(X), _no_edges() if edge_index is None else edge_index
        names = tuple(table.column_names)
        encoder = FeatureEncoder.fit(table, names, edges)
        for note in encoder.notes:
            warnings.warn(note, UserWarning, stacklevel=5)
        return cls(len(names), names, encoder), encoder.transform(table, edges)

    def read(self, X: Any, edge_index: Tensor | None = None) -> Tensor:
        """Return the features of X; columns of a frame are found by their names."""
        if self.encoder is None or self.names is None:
            x = _matrix(X.to_numpy() if is_frame(X) and hasattr(X, "to_numpy") else X)
            self._check_width(x.size(1))
            return x
        if is_frame(X):
            table = _table(X)
            self._check_names(table.column_names)
        else:
            array = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
            self._check_width(_width(array))
            warnings.warn(
                "X does not have valid feature names, but the classifier was fitted with a data "
                "frame: its columns are taken in that order",
                UserWarning,
                stacklevel=5,
            )
            table = _named(array, self.names)
        table, notes = self.encoder.read_numbers(table)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=5)
        return self.encoder.transform(table, _no_edges() if edge_index is None else edge_index)

    def _check_width(self, got: int) -> None:
        if got != self.width:
            raise GraphError(
                f"X must have the columns of training (X has {got} features, but "
                f"HeroFilterClassifier is expecting {self.width} features as input); give the "
                "same columns in the same order, or node indices as a vector"
            )

    def _check_names(self, names: list[str]) -> None:
        needed = [column.name for column in self.encoder.columns] if self.encoder else []
        absent = next((name for name in needed if name not in names), None)
        if absent is not None:
            raise GraphError(
                f"X must have the column {absent!r} of training "
                f"(got {', '.join(map(repr, names))}){did_you_mean(absent, names)}"
            )


def _matrix(X: Any) -> Tensor:
    x = feature_tensor(X)
    if 0 in x.shape:
        what = "feature(s)" if x.size(0) else "sample(s)"
        raise GraphError(
            f"X must have rows and columns (got 0 {what} (shape=({x.size(0)}, {x.size(1)})) while "
            "a minimum of 1 is required); give at least one of each"
        )
    return x


def _table(X: Any) -> pa.Table:
    if hasattr(X, "set_axis") and hasattr(X, "reset_index"):
        # row labels are no feature, and Arrow wants names that are text
        X = X.set_axis([str(name) for name in X.columns], axis=1).reset_index(drop=True)
    table = read_table(X, "data frame X")
    if not table.num_rows or not table.num_columns:
        raise GraphError(
            f"X must have rows and columns (got {table.num_rows} rows and {table.num_columns} "
            "columns); give at least one of each"
        )
    return table


def _named(array: np.ndarray, names: tuple[str, ...]) -> pa.Table:
    try:
        # NaN is missing, as in a data frame
        columns = [pa.array(column, from_pandas=True) for column in array.T]
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise GraphError(
            f"each column of X must hold one kind of value ({error}); convert mixed columns, or "
            "give a data frame"
        ) from error
    return pa.table(columns, names=list(names))


def _width(array: np.ndarray) -> int:
    if array.ndim != 2:
        raise GraphError(
            f"X must be a matrix, a row of features per node (got shape {list(array.shape)}); "
            "give a data frame, or one row per node"
        )
    return int(array.shape[1])


def _no_edges() -> Tensor:
    return torch.empty(2, 0, dtype=torch.long)
