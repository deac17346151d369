"""Predictions out: one row per node, by the user's ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from torch import Tensor

from herofilter.callbacks import Callback, notify
from herofilter.data.tables.table_path import PARQUET, check_table_target
from herofilter.errors import GraphError
from herofilter.files import atomic_path

_ROWS = 65536


def write_predictions(
    path: str | Path,
    ids: pa.Array,
    classes: Sequence[str | int | bool],
    probabilities: Tensor | Iterable[Tensor],
    callback: Callback | None = None,
) -> None:
    """Write ``id, prediction`` and one probability per class, atomically.

    The columns of probabilities are called after the classes. A name that ends in ``.parquet``
    gives Parquet, any other CSV; spreadsheets are refused. Probabilities may come in parts, of
    which one is held at a time.

    Args:
        path: the file.
        ids: ``[b]``.
        classes: what class 0, 1, … is called.
        probabilities: ``[b, C]``, or some rows after the other.
        callback: takes events of stage ``rows``: rows that are written.

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "predictions.csv"
        ...     sure = torch.tensor([[0.25, 0.75]])
        ...     write_predictions(path, pa.array(["a"]), ["no", "yes"], sure)
        ...     print(path.read_text().split())
        ['id,prediction,no,yes', 'a,yes,0.25,0.75']
    """
    parts = [probabilities] if isinstance(probabilities, Tensor) else probabilities
    path, done, writer = Path(path), 0, None
    check_table_target(path)
    with atomic_path(path) as scratch:
        try:
            for part in parts:
                table = predictions_table(ids.slice(done, len(part)), classes, part)
                if writer is None:
                    writer = _writer(scratch, path.suffix, ids, classes, table.schema)
                writer.write_table(table)
                done += len(part)
                notify(callback, "rows", done, len(ids))
        finally:
            if writer is not None:
                writer.close()
        if done != len(ids) or writer is None:
            raise GraphError(
                f"there must be a row of probabilities for each of {len(ids)} ids (got {done} rows)"
            )


def predictions_table(
    ids: pa.Array, classes: Sequence[str | int | bool], probabilities: Tensor
) -> pa.Table:
    """Return the table that :func:`write_predictions` writes."""
    values = probabilities.detach().numpy()
    names = pa.array(list(classes))
    best = pa.array(values.argmax(axis=1).astype(np.int64))
    columns = [ids, names.take(best), *(pa.array(column) for column in values.round(6).T)]
    # a class may be called id
    titles = ["id", "prediction", *(_title(name) for name in classes)]
    return pa.Table.from_arrays(columns, names=titles)


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
    text = str(name)
    return f"probability of {text}" if text in ("id", "prediction") else text
