"""Which files can be tables, told by their endings before pyarrow is loaded."""

from pathlib import Path

from herofilter.errors import DatasetError

TEXT = (".csv", ".txt", ".tsv", ".tab")
PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".zst", ".bz2")


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
    if not path.exists():
        raise DatasetError(f"the {what} must be an existing file (got {path}); check the path")
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    ending = endings[-1] if endings else ""
    if ending not in (*TEXT, *PARQUET):
        raise DatasetError(
            f"the {what} must be a file that ends in .csv, .tsv or .parquet (got {path}); "
            "rename it, or give a table in memory"
        )
    return ending
