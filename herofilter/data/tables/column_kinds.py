"""Kinds of feature columns: each is fitted to the training table and turns a column into floats.

A feature stands for something that the training table showed: without missing or rare values
there, there is no feature for them, because nobody would have trained its weight.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from herofilter.data.tables.column_values import (
    as_booleans,
    as_floats,
    as_text,
    most_frequent,
)

MOST_VALUES = 200
# no value of a training table of fewer than 10^12 rows lies further out
_FURTHEST = 1e6


@dataclass(frozen=True)
class Numeric:
    """A number, standardised by the known values of the training table; missing becomes 0."""

    kind: ClassVar[str] = "numeric"
    name: str
    mean: float
    std: float
    missing: bool

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "Numeric | None":
        """Return the encoder of a column, or None if all its rows say the same."""
        values = as_floats(name, column)
        known = values[~np.isnan(values)]
        missing = known.size < values.size
        if known.size == 0 or (not missing and known.min() == known.max()):
            return None
        # as shares of the largest, because squares of huge values overflow
        largest = float(np.abs(known).max()) or 1.0
        shares = known / largest
        std = largest * float(shares.std()) if known.min() < known.max() else 0.0
        return cls(name, largest * float(shares.mean()), std or 1.0, missing)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing")[: 1 + self.missing]

    def encode(self, column: pa.ChunkedArray) -> np.ndarray:
        values = as_floats(self.name, column)
        unknown = np.isnan(values)
        with np.errstate(over="ignore"):
            scaled = np.clip((values - self.mean) / self.std, -_FURTHEST, _FURTHEST)
        return _with_indicator(scaled, unknown, self.missing)


@dataclass(frozen=True)
class Boolean:
    """True as 1, false and missing as 0."""

    kind: ClassVar[str] = "boolean"
    name: str
    missing: bool

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "Boolean | None":
        """Return the encoder of a column, or None if all its rows say the same."""
        missing = column.null_count > 0
        return cls(name, missing) if len(column.unique()) > 1 else None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} is missing")[: 1 + self.missing]

    def encode(self, column: pa.ChunkedArray) -> np.ndarray:
        values = as_booleans(self.name, column)
        return _with_indicator(values, np.isnan(values), self.missing)


@dataclass(frozen=True)
class Category:
    """One feature for each frequent value, one for the rest and one for missing values."""

    kind: ClassVar[str] = "category"
    name: str
    values: tuple[str, ...]
    rest: bool
    missing: bool

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "Category | None":
        """Return the encoder of a column, or None if all its rows say the same."""
        text = as_text(name, column)
        values, rest = most_frequent([text.drop_null().value_counts()], MOST_VALUES)
        missing = text.null_count > 0
        return cls(name, values, rest, missing) if len(values) + missing > 1 else None

    @property
    def names(self) -> tuple[str, ...]:
        rest = (f"{self.name} is other",) * self.rest
        missing = (f"{self.name} is missing",) * self.missing
        return (*(f"{self.name}={value}" for value in self.values), *rest, *missing)

    def encode(self, column: pa.ChunkedArray) -> sp.csr_array:
        text = as_text(self.name, column)
        found = pc.index_in(text, value_set=pa.array(self.values, pa.string()))
        absent = text.is_null().to_numpy()
        index = found.fill_null(len(self.values) if self.rest else -1).to_numpy().astype(np.int64)
        index[absent] = len(self.names) - 1 if self.missing else -1
        rows = np.flatnonzero(index >= 0)
        return ones_at(rows, index[rows], (len(text), len(self.names)))


def _with_indicator(values: np.ndarray, unknown: np.ndarray, indicator: bool) -> np.ndarray:
    """Return ``[n, 1]`` or ``[n, 2]``: values with 0 where unknown, and where that is."""
    known = np.where(unknown, 0.0, values)
    return np.stack([known, unknown][: 1 + indicator], axis=1).astype(np.float32)


def ones_at(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix with ones at the given rows and columns; ``rows`` is sorted."""
    starts = np.searchsorted(rows, np.arange(shape[0] + 1))
    return sp.csr_array((np.ones(rows.size, np.float32), columns, starts), shape=shape)
