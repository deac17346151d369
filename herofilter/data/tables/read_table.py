"""Tables in: CSV, TSV and Parquet files, pandas and other data frames, as Arrow tables."""

import codecs
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Union

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from herofilter.data.tables.plain_types import plain_types
from herofilter.data.tables.table_path import PARQUET, check_encoding, table_ending
from herofilter.errors import DatasetError

if TYPE_CHECKING:
    import pandas

TableSource: TypeAlias = Union[str, Path, pa.Table, "pandas.DataFrame"]

# what pandas.read_csv reads as missing
MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]
_BLOCK_BYTES = 1 << 24
_DECIMAL_COMMA = r"^[+-]?[0-9]+(,[0-9]+)?$"


@dataclass(frozen=True)
class OpenTable:
    """A table whose column names are known, before its columns are read.

    ``held`` is a table in memory; otherwise ``path`` is a file, and ``delimiter`` is what stands
    between the cells if it is a text file in ``encoding``.
    """

    what: str
    names: tuple[str, ...]
    held: pa.Table | None = None
    path: Path = Path()
    delimiter: str | None = None
    encoding: str = "utf-8"

    @property
    def is_text(self) -> bool:
        """Whether the kinds of the columns are guesses, because the file holds text only."""
        return self.delimiter is not None

    @property
    def has_semicolons(self) -> bool:
        """Whether semicolons stand between the cells, as where fractions have a decimal comma."""
        return self.delimiter == ";"

    def read(self, columns: Sequence[str] | None = None, text: Sequence[str] = ()) -> pa.Table:
        """Return ``columns``, or all of them; those in ``text`` stay text in a text file."""
        wanted = list(self.names if columns is None else dict.fromkeys(columns))
        if self.held is not None:
            return plain_types(self.held.select(wanted))
        with _reading(self.path, self.what, self.encoding):
            if self.delimiter is None:
                table = pyarrow.parquet.read_table(self.path, columns=wanted)
                # text in a damaged file need not be text
                table.validate(full=True)
                return plain_types(table)
            return _read_text(self.path, self.delimiter, self.encoding, wanted, text)

    def check_rows(self, table: pa.Table) -> None:
        """Raise a :class:`DatasetError` if what was read has no rows."""
        if not table.num_rows:
            got = (
                "column names only" if self.held is not None else f"{self.path}, column names only"
            )
            raise DatasetError(f"the {self.what} must have at least one row (got {got}); add rows")


def read_table(source: TableSource, what: str, encoding: str = "utf-8") -> pa.Table:
    """Return ``source`` as an Arrow table; ``what`` is what error messages call it.

    A file is told by its ending: ``.csv`` or ``.txt`` (with commas, semicolons or tabs), ``.tsv``
    or ``.tab``, each also packed as ``.gz``, ``.zst`` or ``.bz2``, and ``.parquet`` or ``.pq``.
    Text is UTF-8 unless ``encoding`` says otherwise; spaces around cells are cut off, and NA, NaN,
    null and the like are missing.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "nodes.csv"
        >>> _ = file.write_text("id,age\\na,31\\nb,NA\\n")
        >>> read_table(file, "nodes").to_pydict()
        {'id': ['a', 'b'], 'age': [31, None]}
    """
    return open_table(source, what, encoding).read()


def open_table(source: TableSource, what: str, encoding: str = "utf-8") -> OpenTable:
    """Return the table with its column names, for reading some of its columns later."""
    check_encoding(encoding)
    if isinstance(source, str | Path):
        opened = _open_file(Path(source), what, encoding)
    else:
        held = _frame(source, what)
        opened = OpenTable(what, tuple(held.column_names), held)
    twice = sorted({name for name in opened.names if opened.names.count(name) > 1})
    if twice:
        raise DatasetError(
            f"the columns of the {what} must have different names "
            f"(got {', '.join(map(repr, twice))} more than once); rename them"
        )
    return opened


def _open_file(path: Path, what: str, encoding: str) -> OpenTable:
    ending = table_ending(path, what)
    if ending in PARQUET:
        with _reading(path, what, encoding):
            names = tuple(pyarrow.parquet.read_schema(path).names) if path.is_file() else None
            # a folder of parts, as Spark writes it
            names = names or tuple(pyarrow.parquet.ParquetDataset(path).schema.names)
        return OpenTable(what, names, path=path)
    with _reading(path, what, encoding):
        lines = _first_lines(path, encoding)
    if not lines:
        raise DatasetError(f"the {what} must have a line of column names (got {path}, empty)")
    delimiter = "\t" if ending in (".tsv", ".tab") else _delimiter(lines[0])
    with _reading(path, what, encoding):
        names = tuple(name.strip() for name in _raw_names(lines[0], delimiter))
    return OpenTable(what, names, path=path, delimiter=delimiter, encoding=encoding)


def _as_utf8(path: Path, encoding: str) -> pa.NativeFile:
    stream = pa.input_stream(str(path))
    if codecs.lookup(encoding).name == "utf-8":
        return stream
    return pa.transcoding_input_stream(stream, encoding, "utf-8")


def _first_lines(path: Path, encoding: str) -> list[bytes]:
    """Return the line of column names, and the next if there is one, in UTF-8."""
    with _as_utf8(path, encoding) as stream:
        start: bytes = stream.read(_BLOCK_BYTES)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()[:2]


def _delimiter(line: bytes) -> str:
    return next((mark for mark in ",;\t" if mark.encode() in line), ",")


def _raw_names(line: bytes, delimiter: str) -> list[str]:
    options = pyarrow.csv.ParseOptions(delimiter=delimiter)
    names: list[str] = pyarrow.csv.read_csv(
        pa.BufferReader(line + b"\n"), parse_options=options
    ).column_names
    return names


def _read_text(
    path: Path, delimiter: str, encoding: str, columns: list[str], text: Sequence[str]
) -> pa.Table:
    # the raw names, because pyarrow knows columns by them
    lines = _first_lines(path, encoding)
    raw = {name.strip(): name for name in _raw_names(lines[0], delimiter)}
    if len(lines) == 1:
        # pyarrow takes column names without a line end for an empty file
        return pa.table({name: pa.nulls(0) for name in columns})
    with _as_utf8(path, encoding) as stream:
        table = _parse(stream, delimiter, raw, columns, text)
    comma = delimiter == ";"
    return pa.table({name: _tidy(table[raw[name]], name not in text, comma) for name in columns})


def read_cells(columns: Mapping[str, Sequence[str | None]], text: Sequence[str]) -> pa.Table:
    """Return columns of text as a text file would give them: types guessed, but for ``text``.

    Example:
        >>> read_cells({"age": ["31", "NA"], "code": [" 007", "1"]}, ["code"]).to_pydict()
        {'age': [31, None], 'code': ['007', '1']}
    """
    raw = {name: str(number) for number, name in enumerate(columns)}
    cells = {raw[name]: pa.array(values, pa.string()) for name, values in columns.items()}
    # row numbers, because a line without any cell would be skipped
    rows = pa.array(range(len(next(iter(cells.values()), ()))))
    lines = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table({"row": rows, **cells}), lines)
    table = _parse(pa.BufferReader(lines.getvalue()), ",", raw, list(columns), text)
    return pa.table({name: _tidy(table[raw[name]], name not in text, False) for name in columns})


def _parse(
    stream: pa.NativeFile,
    delimiter: str,
    raw: Mapping[str, str],
    columns: Sequence[str],
    text: Sequence[str],
) -> pa.Table:
    return pyarrow.csv.read_csv(
        stream,
        read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=[raw[name] for name in columns],
            column_types={raw[name]: pa.string() for name in text if name in raw},
            null_values=MISSING,
            strings_can_be_null=True,
        ),
    )


def _tidy(column: pa.ChunkedArray, guess: bool, comma: bool) -> pa.ChunkedArray:
    """Cut off spaces around text; numbers with spaces or a decimal comma become numbers."""
    if pa.types.is_binary(column.type):
        raise UnicodeError
    if not pa.types.is_string(column.type):
        return column
    trimmed = pc.utf8_trim_whitespace(column)
    if not trimmed.equals(column):
        missing = pc.is_in(trimmed, value_set=pa.array(MISSING))
        trimmed = pc.if_else(missing, None, trimmed)
    elif not comma:
        return column
    values = trimmed
    if comma and pc.all(pc.match_substring_regex(trimmed, _DECIMAL_COMMA)).as_py():
        values = pc.replace_substring(trimmed, ",", ".")
    for kind in (pa.int64(), pa.float64()) if guess else ():
        try:
            return values.cast(kind)
        except pa.ArrowInvalid:
            continue
    return trimmed


def _frame(source: object, what: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    pandas = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(source, pandas.DataFrame):
            # an index with a name is a column to its owner; one without is a row number
            keep = any(name is not None for name in source.index.names)
            return pa.Table.from_pandas(source, preserve_index=keep)
        if hasattr(source, "__arrow_c_stream__"):
            return pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = "; ".join(map(str, error.args))
        raise DatasetError(
            f"the columns of the {what} must have different names and one kind of value each "
            f"({reason}); convert mixed columns, for instance with .astype(str)"
        ) from error
    raise DatasetError(
        f"the {what} must be a path, an Arrow table or a data frame (got {type(source).__name__})"
    )


@contextmanager
def _reading(path: Path, what: str, encoding: str) -> Iterator[None]:
    """Turn whatever goes wrong while parsing ``path`` into one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, UnicodeError) or "invalid UTF8" in reason:
            raise DatasetError(
                f"the {what} must be text in {encoding} (got other bytes in {path}); "
                "name the encoding with --encoding, such as cp1252 or utf-16"
            ) from error
        raise DatasetError(
            f"the {what} must be a readable text or Parquet file "
            f"({path}: {reason}); repair it or save it anew"
        ) from error
