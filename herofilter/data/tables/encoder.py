"""A table's columns as features: fitted to the training table, applied to any later one."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.utils import degree

from herofilter.data.features import csr_tensor
from herofilter.data.tables.column_choice import Column, fit_column
from herofilter.data.tables.column_kinds import Boolean, Category, Numeric
from herofilter.data.tables.column_spelling import read_as_spelt
from herofilter.data.tables.list_kinds import Items, Vector
from herofilter.data.tables.number_text import ISO, PLAIN
from herofilter.data.tables.table_columns import find_column
from herofilter.errors import DatasetError, did_you_mean

SPARSE_BELOW = 0.3
_KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Numeric, Boolean, Category, Items, Vector)
}


@dataclass(frozen=True)
class Degrees:
    """Stand-in for a table without features: log(1 + out-degree) and log(1 + in-degree)."""

    mean: tuple[float, float]
    std: tuple[float, float]

    @classmethod
    def fit(cls, edge_index: Tensor, num_nodes: int) -> "Degrees":
        """Remember mean and spread of the training graph."""
        raw = _log_degrees(edge_index, num_nodes)
        std = raw.std(axis=0)
        std[raw.max(axis=0) == raw.min(axis=0)] = 1.0
        (a, b), (c, d) = raw.mean(axis=0).tolist(), std.tolist()
        return cls((a, b), (c, d))

    def encode(self, edge_index: Tensor, num_nodes: int) -> np.ndarray:
        """Return ``[n, 2]``."""
        scaled = (_log_degrees(edge_index, num_nodes) - self.mean) / self.std
        return scaled.astype(np.float32)


@dataclass(frozen=True)
class FeatureEncoder:
    """How each column becomes features; a table without usable columns has ``degrees``.

    Numeric columns are standardised, categories become one feature per value, lists one per item.
    A column's type decides its kind; ``notes`` says which columns were left out and why. Means and
    known values are those of all rows of the table, since the features of every node, though not
    its label, are known in training. ``spelt`` says how numbers and dates are spelt in columns of
    text files that don't write numbers as 1234.5.

    Example:
        >>> table = pa.table({"age": [20, 40, None], "country": ["DE", "FR", "DE"]})
        >>> encoder = FeatureEncoder.fit(table, ["age", "country"])
        >>> encoder.names
        ('age', 'age is missing', 'country=DE', 'country=FR')
        >>> encoder.transform(table, torch.empty(2, 0, dtype=torch.long))
        tensor([[-1.,  0.,  1.,  0.],
                [ 1.,  0.,  0.,  1.],
                [ 0.,  1.,  1.,  0.]])
    """

    columns: tuple[Column, ...]
    degrees: Degrees | None = None
    notes: tuple[str, ...] = ()
    spelt: tuple[tuple[str, str], ...] = ()

    @classmethod
    def fit(
        cls,
        table: pa.Table,
        columns: Sequence[str],
        edge_index: Tensor | None = None,
        spelt: Mapping[str, str] | None = None,
    ) -> "FeatureEncoder":
        """Choose a kind for each of ``columns``; ``edge_index`` is for a table without any."""
        fitted, notes = [], []
        for name in columns:
            column, reason = fit_column(table, find_column(table.column_names, name, "nodes"))
            if column is not None:
                fitted.append(column)
            else:
                notes.append(f"column {name!r} was left out: {reason}")
        if fitted:
            kept = {column.name for column in fitted}
            known = tuple((name, key) for name, key in (spelt or {}).items() if name in kept)
            return cls(tuple(fitted), None, tuple(notes), known)
        notes.append("there are no feature columns, so the degrees of nodes are their features")
        edges = torch.empty(2, 0, dtype=torch.long) if edge_index is None else edge_index
        return cls((), Degrees.fit(edges, table.num_rows), tuple(notes))

    @property
    def names(self) -> tuple[str, ...]:
        """One readable name per feature."""
        if self.degrees is not None:
            return ("log out-degree", "log in-degree")
        return tuple(name for column in self.columns for name in column.names)

    @property
    def num_features(self) -> int:
        """The width of the features."""
        return len(self.names)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns to be read as text, even where a file has only numbers in them."""
        text = (Category, Items)
        # 1.234 may be a thousand there, which a reader of numbers can't know
        spelt = {name for name, spelling in self.spelt if spelling != ISO.name}
        return tuple(
            column.name
            for column in self.columns
            if isinstance(column, text) or column.name in spelt
        )

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise a :class:`DatasetError` if a column of the training table isn't in ``names``."""
        for column in self.columns:
            if column.name not in names:
                raise DatasetError(
                    f"the nodes must have the column {column.name!r}, which the model was trained "
                    f"with (got {', '.join(map(repr, names))}){did_you_mean(column.name, names)}"
                )

    def read_numbers(self, table: pa.Table, semicolons: bool = False) -> tuple[pa.Table, list[str]]:
        """Return a later table with text read as numbers where training had them, and notes.

        Cells that aren't numbers become missing.

        Example:
            >>> encoder = FeatureEncoder.fit(pa.table({"age": [20, 40]}), ["age"])
            >>> encoder.read_numbers(pa.table({"age": ["31", "old"]}))[1]
            ["1 of 2 cells of 'age' isn't a number, such as 'old'; it counts as missing"]
        """
        names = [column.name for column in self.columns if isinstance(column, Numeric)]
        return read_as_spelt(table, dict.fromkeys(names, PLAIN.name) | dict(self.spelt), semicolons)

    def transform(self, table: pa.Table, edge_index: Tensor) -> Tensor:
        """Return float32 ``[n, num_features]``, in compressed sparse rows if mostly zero."""
        self.check_columns(table.column_names)
        if self.degrees is not None:
            return torch.from_numpy(self.degrees.encode(edge_index, table.num_rows))
        return _joined([column.encode(table[column.name]) for column in self.columns])

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as plain JSON values."""
        columns = [{"kind": each.kind, **dataclasses.asdict(each)} for each in self.columns]
        degrees = None if self.degrees is None else dataclasses.asdict(self.degrees)
        return {
            "columns": columns,
            "degrees": degrees,
            "notes": list(self.notes),
            "spelt": dict(self.spelt),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FeatureEncoder":
        """Return what :meth:`to_dict` gave, also after it was written to JSON."""
        try:
            columns = []
            for entry in values["columns"]:
                fields = {key: _frozen(value) for key, value in entry.items() if key != "kind"}
                columns.append(_KINDS[entry["kind"]](**fields))
            degrees = values["degrees"] and Degrees(
                **{key: _frozen(value) for key, value in values["degrees"].items()}
            )
            # earlier versions read plain numbers only
            spelt = tuple(values.get("spelt", {}).items())
            return cls(tuple(columns), degrees, tuple(values["notes"]), spelt)
        except (KeyError, TypeError, AttributeError) as error:
            raise DatasetError(
                "an encoder must be what FeatureEncoder.to_dict gave "
                f"({type(error).__name__}: {error}); save the model anew"
            ) from error


def _joined(blocks: Sequence[np.ndarray | sp.csr_array]) -> Tensor:
    shape = (blocks[0].shape[0], sum(block.shape[1] for block in blocks))
    filled = sum(
        int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else int(block.nnz)
        for block in blocks
    )
    if filled < SPARSE_BELOW * shape[0] * shape[1]:
        joined = sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
        joined.sort_indices()
        starts, columns = (
            torch.from_numpy(array.astype(np.int64)) for array in (joined.indptr, joined.indices)
        )
        return csr_tensor(starts, columns, torch.from_numpy(joined.data), shape)
    dense = np.empty(shape, np.float32)
    start = 0
    for block in blocks:
        stop = start + block.shape[1]
        dense[:, start:stop] = block if isinstance(block, np.ndarray) else block.toarray()
        start = stop
    return torch.from_numpy(dense)


def _log_degrees(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    columns = [degree(ends, num_nodes, dtype=torch.float64).log1p() for ends in edge_index]
    raw: np.ndarray = torch.stack(columns, dim=1).numpy()
    return raw


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
