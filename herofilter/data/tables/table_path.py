"""Which files can be tables, told by their endings before pyarrow is loaded."""

import os
from pathlib import Path

from herofilter.errors import ConfigError, DatasetError

TEXT = (".csv", ".txt", ".tsv", ".tab")
PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".zst", ".bz2")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")


def table_ending(path: Path, what: str) -> str:
    """Return the ending of a table's file without that of a packed one, such as ``.csv``.

    Args:
        path: an existing file, or a folder of Parquet files.
        what: what an error message calls it.

    Example:
        >>> table_ending(Path("none.csv"), "edges")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        herofilter.errors.DatasetError: the edges must be an existing file (got none.csv); ...
    """
    if not os.path.exists(path):
        shown = str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}…"
        raise DatasetError(f"the {what} must be an existing file (got {shown}); check the path")
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    ending = endings[-1] if endings else ""
    if ending in SPREADSHEETS:
        raise DatasetError(
            f"the {what} must be a CSV, TSV or Parquet file (got {path}, a spreadsheet); "
            "open it and save it as CSV"
        )
    if ending not in (*TEXT, *PARQUET):
        raise DatasetError(
            f"the {what} must be a file that ends in .csv, .tsv or .parquet (got {path}); "
            "rename it, or give a table in memory"
        )
    if not os.path.isfile(path) and not (ending in PARQUET and os.path.isdir(path)):
        # a device or a pipe might never end
        raise DatasetError(
            f"the {what} must be a regular file (got {path}, a folder, a device or a pipe); "
            "save it as a file"
        )
    return ending


def check_table_target(path: Path) -> None:
    """Raise a :class:`ConfigError` if a table is to be written into a spreadsheet.

    Example:
        >>> check_table_target(Path("predictions.csv"))
    """
    if path.suffix.lower() in SPREADSHEETS:
        raise ConfigError(
            f"predictions must be written to a .csv or .parquet file (got {path}, a spreadsheet); "
            f"give {path.with_suffix('.csv')}, which spreadsheet programs open"
        )


def check_encoding(encoding: str) -> None:
    """Raise a :class:`ConfigError` unless Python knows the encoding of text.

    Example:
        >>> check_encoding("latin-1")
    """
    try:
        "".encode(encoding)
    except LookupError:
        raise ConfigError(
            f"encoding must be one that Python knows (got {encoding!r}); "
            "utf-8, cp1252, latin-1 and utf-16 are usual"
        ) from None
