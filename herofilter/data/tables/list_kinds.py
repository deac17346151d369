"""Kinds of feature columns that hold lists: items of a set, and vectors of floats."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from herofilter.data.tables.column_kinds import ones_at
from herofilter.data.tables.column_values import as_finite, check_list, item_pieces, most_frequent
from herofilter.errors import GraphError

MOST_ITEMS = 5000
# the names of the fields in a table
PLACE, VALUE = "place", "value"


@dataclass(frozen=True)
class Items:
    """One feature for each frequent item of lists, or of text with a ``separator``."""

    kind: ClassVar[str] = "items"
    name: str
    items: tuple[str, ...]
    separator: str | None

    @classmethod
    def fit(
        cls, name: str, column: pa.ChunkedArray, separator: str | None = None
    ) -> "Items | None":
        """Return the encoder of a column, or None if it has no items."""
        pieces = [items.value_counts() for _, items in item_pieces(name, column, separator)]
        items, _ = most_frequent(pieces, MOST_ITEMS)
        return cls(name, items, separator) if items else None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.name} has {item}" for item in self.items)

    def encode(self, column: pa.ChunkedArray) -> sp.csr_array:
        known, width = pa.array(self.items, pa.string()), len(self.items)
        keys = [np.empty(0, np.int64)]
        for rows, items in item_pieces(self.name, column, self.separator):
            found = pc.index_in(items, value_set=known).fill_null(-1).to_numpy().astype(np.int64)
            # an item that occurs twice in a row counts once
            keys.append(np.unique(rows[found >= 0] * width + found[found >= 0]))
        key = np.concatenate(keys)
        return ones_at(key // width, key % width, (len(column), width))


@dataclass(frozen=True)
class Vector:
    """Floats that come as one list of equal length per row, such as embeddings, as they are.

    A list of pairs, ``place`` and ``value``, is a list that is zero at all other indices.
    """

    kind: ClassVar[str] = "vector"
    name: str
    width: int

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray) -> "Vector | None":
        """Return the encoder of a column, or None if its lists are empty or differ in length."""
        if cls.is_sparse(column.type):
            last = pc.max(pc.struct_field(pc.list_flatten(column), PLACE)).as_py()
            return None if last is None else cls(name, last + 1)
        shortest, longest = pc.min_max(pc.list_value_length(column)).values()
        fits = shortest == longest and longest.as_py()
        return cls(name, longest.as_py()) if fits else None

    @staticmethod
    def is_sparse(kind: pa.DataType) -> bool:
        """Return whether a type of lists holds pairs of place and value."""
        inner = kind.value_type
        return bool(pa.types.is_struct(inner)) and {field.name for field in inner} == {PLACE, VALUE}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{i}]" for i in range(self.width))

    def encode(self, column: pa.ChunkedArray) -> np.ndarray | sp.csr_array:
        column = check_list(self.name, column)
        rows = pc.list_parent_indices(column).to_numpy()
        entries = pc.list_flatten(column)
        if self.is_sparse(column.type):
            return self._sparse(rows, entries, len(column))
        counts = np.bincount(rows, minlength=len(column))
        wrong = counts[(counts != self.width) & column.is_valid().to_numpy()]
        if wrong.size:
            raise GraphError(
                f"every list in the column {self.name!r} must hold {self.width} numbers "
                f"(got one of {wrong[0]})"
            )
        values = np.zeros((len(column), self.width), np.float32)
        values[counts > 0] = as_finite(self.name, entries).reshape(-1, self.width)
        return values

    def _sparse(self, rows: np.ndarray, pairs: pa.ChunkedArray, num_rows: int) -> sp.csr_array:
        index = pc.struct_field(pairs, PLACE).to_numpy()
        if index.size and not 0 <= index.min() <= index.max() < self.width:
            raise GraphError(
                f"indices in the column {self.name!r} must be from 0 to {self.width - 1} "
                f"(got {index.min()} to {index.max()})"
            )
        value = as_finite(self.name, pc.struct_field(pairs, VALUE))
        return sp.csr_array((value, (rows, index)), shape=(num_rows, self.width))


def vector_column(name: str, matrix: Any) -> tuple[pa.Array, pa.Field]:
    """Return a matrix as a column for :class:`Vector`; a sparse one as pairs."""
    width = matrix.shape[1]
    if not sp.issparse(matrix):
        flat = pa.array(np.ascontiguousarray(matrix, dtype=np.float32).reshape(-1))
        column = pa.FixedSizeListArray.from_arrays(flat, width)
        return column, pa.field(name, column.type)
    rows = sp.csr_array(matrix)
    pairs = [pa.array(rows.indices.astype(np.int32)), pa.array(rows.data.astype(np.float32))]
    column = pa.LargeListArray.from_arrays(
        pa.array(rows.indptr.astype(np.int64)), pa.StructArray.from_arrays(pairs, [PLACE, VALUE])
    )
    return column, pa.field(name, column.type, metadata={"width": str(width)})
