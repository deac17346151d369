"""Predictions out: one row per node, by the user's ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify
from herofilter.data.checks import MASKS
from herofilter.data.tables.label_columns import class_text
from herofilter.data.tables.safe_cells import safe_cell, safe_cells
from herofilter.data.tables.table_path import PARQUET, check_table_target
from herofilter.errors import GraphError
from herofilter.files import atomic_path

TITLES = ("id", "label", "part", "prediction", "confidence")
# -1, the last, is none
PARTS = ("train", "val", "test", "none")
_ROWS = 65536


def write_predictions(
    path: str | Path,
    ids: pa.Array,
    classes: Sequence[str | int | bool],
    probabilities: Tensor | Iterable[Tensor],
    callback: Callback | None = None,
    labels: Tensor | None = None,
    parts: Tensor | None = None,
    safe: bool = False,
) -> None:
    """Write what is known and predicted of each node, atomically.

    The columns are ``id``, ``label`` (empty if it isn't known), ``part`` of the split (train, val,
    test or none), ``prediction``, ``confidence`` and one probability per class.

    The columns of probabilities are called after the classes. A name that ends in ``.parquet``
    gives Parquet, any other CSV; spreadsheets are refused. Probabilities may come in parts, of
    which one is held at a time.

    Args:
        path: the file.
        ids: ``[b]``.
        classes: what class 0, 1, … is called.
        probabilities: ``[b, C]``, or some rows after the other.
        callback: takes events of stage ``rows``: rows that are written.
        labels: ``[b]``, the known classes, -1 for none; by default none is known.
        parts: ``[b]``, 0 for train, 1 for val, 2 for test, -1 for none of them, the default.
        safe: whether ids and classes that a spreadsheet program would run as formulas get a quote
            in front in CSV files; see :func:`~herofilter.data.tables.safe_cells.safe_cells`.

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "predictions.csv"
        ...     sure = torch.tensor([[0.25, 0.75]])
        ...     write_predictions(path, pa.array(["a"]), ["no", "yes"], sure)
        ...     print(path.read_text().split())
        ['id,label,part,prediction,confidence,no,yes', 'a,,none,yes,0.75,0.25,0.75']
    """
    pieces = [probabilities] if isinstance(probabilities, Tensor) else probabilities
    path, done, writer = Path(path), 0, None
    check_table_target(path)
    if safe and path.suffix not in PARQUET:
        ids, classes = safe_cells(ids), [safe_cell(name) for name in classes]
    with atomic_path(path) as scratch:
        try:
            for piece in pieces:
                known = (
                    None if values is None else values[done : done + len(piece)]
                    for values in (labels, parts)
                )
                table = predictions_table(ids.slice(done, len(piece)), classes, piece, *known)
                if writer is None:
                    writer = _writer(scratch, path.suffix, ids, classes, table.schema)
                writer.write_table(table)
                done += len(piece)
                notify(callback, "rows", done, len(ids))
        finally:
            if writer is not None:
                writer.close()
        if done != len(ids) or writer is None:
            raise GraphError(
                f"there must be a row of probabilities for each of {len(ids)} ids (got {done} rows)"
            )


def predictions_table(
    ids: pa.Array,
    classes: Sequence[str | int | bool],
    probabilities: Tensor,
    labels: Tensor | None = None,
    parts: Tensor | None = None,
) -> pa.Table:
    """Return the table that :func:`write_predictions` writes."""
    values = probabilities.detach().numpy()
    names = pa.array(list(classes))
    unknown = np.full(len(values), -1)
    label, part = (unknown if each is None else each.numpy() for each in (labels, parts))
    best = pa.array(values.argmax(axis=1).astype(np.int64))
    columns = [
        ids,
        names.take(pa.array(label, mask=label < 0)),
        pa.array(PARTS).take(pa.array(part % len(PARTS))),
        names.take(best),
        pa.array(values.max(axis=1).round(6)),
        *(pa.array(column) for column in values.round(6).T),
    ]
    return pa.Table.from_arrays(columns, names=[*TITLES, *map(_title, classes)])


def split_parts(data: Data) -> Tensor:
    """Return ``[n]``: in which part of its split each node is, 0 to 2, or -1.

    Example:
        >>> import torch
        >>> split_parts(Data(val_mask=torch.tensor([False, True]), num_nodes=2))
        tensor([-1,  1])
    """
    parts = torch.full((int(data.num_nodes or 0),), -1)
    for index, name in enumerate(MASKS):
        mask = data.get(name)
        if mask is not None and mask.dim() == 1:
            parts[mask] = index
    return parts


def _writer(
    path: Path, suffix: str, ids: pa.Array, classes: Sequence[str | int | bool], schema: pa.Schema
) -> Any:
    if suffix in PARQUET:
        return pyarrow.parquet.ParquetWriter(path, schema)
    # plain values as other tools write them; pyarrow would quote all text otherwise
    options = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
    if not _plain(ids, classes, options):
        options = pyarrow.csv.WriteOptions()
    return pyarrow.csv.CSVWriter(path, schema, write_options=options)


def _plain(
    ids: pa.Array, classes: Sequence[str | int | bool], options: pyarrow.csv.WriteOptions
) -> bool:
    """Return whether ids, classes and titles need no quotes in CSV: all is quoted, or nothing."""
    titles = pa.array([_title(name) for name in classes])
    pieces = (ids.slice(first, _ROWS) for first in range(0, len(ids), _ROWS))
    try:
        for values in (pa.array(list(classes)), titles, *pieces):
            table = pa.Table.from_arrays([values], names=["id"])
            pyarrow.csv.write_csv(table, pa.BufferOutputStream(), options)
    except pa.ArrowInvalid:
        return False
    return True


def _title(name: str | int | bool) -> str:
    text = class_text(name)
    # a class may be called id
    return f"probability of {text}" if text in TITLES else text
