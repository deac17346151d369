"""A list of ids: which of many nodes are asked for."""

from pathlib import Path

import pyarrow as pa

from herofilter.data.tables.read_table import open_table
from herofilter.data.tables.table_columns import TableColumns, find_id
from herofilter.errors import DatasetError

_LINES = ".txt"


def read_ids(path: Path, columns: TableColumns) -> tuple[str, ...]:
    """Return the ids in a file, each once: one a line in a ``.txt`` file, else a table's column.

    Args:
        path: a ``.txt`` file, or a table such as a part of ``predictions.csv``.
        columns: what the column of ids is called, and the encoding of text.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "asked.txt"
        ...     size = path.write_text("user:7\\nuser:9\\n\\nuser:7\\n")
        ...     read_ids(path, TableColumns())
        ('user:7', 'user:9')
    """
    if path.suffix.lower() == _LINES:
        try:
            lines = path.read_text(encoding=columns.encoding).splitlines()
        except UnicodeDecodeError:
            raise DatasetError(
                f"the ids must be text in {columns.encoding} (got other bytes in {path}); "
                "name the encoding with --encoding, such as cp1252 or utf-16"
            ) from None
        found = [line.strip() for line in lines]
    else:
        table = open_table(path, "ids", columns.encoding)
        name, _ = find_id(table.names, columns.id)
        found = table.read([name], text=[name])[name].cast(pa.large_string()).to_pylist()
    # each once, in order
    ids = tuple(dict.fromkeys(each for each in found if each))
    if not ids:
        raise DatasetError(f"the ids must name at least one node (got none in {path})")
    return ids
