"""Predictions out: one row per node, by the user's own ids."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from torch import Tensor

from herofilter.files import atomic_path


def write_predictions(
    path: str | Path,
    ids: pa.Array,
    classes: Sequence[str | int | bool],
    probabilities: Tensor,
) -> None:
    """Write ``id, prediction`` and one probability per class, atomically.

    The columns of probabilities are called after the classes. A name that ends in ``.parquet``
    gives Parquet, any other CSV.

    Shapes:
        - ids: ``[b]``; probabilities: ``[b, C]``

    Example:
        >>> import tempfile, torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "predictions.csv"
        ...     sure = torch.tensor([[0.25, 0.75]])
        ...     write_predictions(path, pa.array(["a"]), ["no", "yes"], sure)
        ...     print(path.read_text().split())
        ['id,prediction,no,yes', 'a,yes,0.25,0.75']
    """
    table = predictions_table(ids, classes, probabilities)
    path = Path(path)
    with atomic_path(path) as scratch:
        if path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, scratch)
        else:
            _write_csv(table, scratch)


def _write_csv(table: pa.Table, path: Path) -> None:
    try:
        # plain cells as other tools write them; pyarrow would quote all text otherwise
        plain = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
        pyarrow.csv.write_csv(table, path, plain)
    except pa.ArrowInvalid:
        pyarrow.csv.write_csv(table, path)


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


def _title(name: str | int | bool) -> str:
    text = str(name)
    return f"probability of {text}" if text in ("id", "prediction") else text
