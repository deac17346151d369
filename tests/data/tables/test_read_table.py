import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from herofilter.data.tables.read_table import open_table, read_table
from herofilter.errors import ConfigError, DatasetError


def write(folder: Path, content: str | bytes, name: str = "nodes.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(source: object, what: str = "nodes") -> str:
    with pytest.raises(DatasetError) as caught:
        read_table(source, what)  # type: ignore[arg-type]
    return str(caught.value)


def test_messy_csv(tmp_path: Path) -> None:
    content = (
        b"\xef\xbb\xbfid,full name , size\r\n"
        b'7,"Berlin, ""Mitte""",9007199254740993\r\n'
        b"8, New York , NA\r\n"
        b'9,"two\r\nlines",\r\n'
        b"\r\n"
    )
    assert read_table(write(tmp_path, content), "nodes").to_pydict() == {
        "id": [7, 8, 9],
        "full name": ['Berlin, "Mitte"', "New York", "two\r\nlines"],
        "size": [9007199254740993, None, None],
    }


def test_missing_markers_of_all_kinds(tmp_path: Path) -> None:
    markers = ["", "NA", "NaN", "nan", "null", "NULL", "N/A", '""', '"NA"', "None", " null "]
    rows = "".join(f"{i},{marker},{marker}\n" for i, marker in enumerate(markers))
    table = read_table(write(tmp_path, f"id,number,word\n100,2.5,none\n{rows}"), "nodes")
    assert table["number"].drop_null().to_pylist() == [2.5]
    assert table["word"].drop_null().to_pylist() == ["none"]


def test_text_columns_keep_their_zeros(tmp_path: Path) -> None:
    opened = open_table(write(tmp_path, " id ,zip\n007,01234\n"), "nodes")
    assert opened.names == ("id", "zip")
    assert opened.is_text
    assert opened.read(text=["id"]).to_pydict() == {"id": ["007"], "zip": [1234]}
    assert opened.read(["zip"]).column_names == ["zip"]


def test_spaces_dont_make_text_of_numbers(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "a, b, c\n1, 2, 2.5\n3, NA, 4\n"), "nodes")
    assert table.to_pydict() == {"a": [1, 3], "b": [2, None], "c": [2.5, 4.0]}


def test_decimal_commas_beside_semicolons(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, "id;size;pair\na;1,5;1,2\nb;-20;x\nc;NA;3,4\n"), "nodes")
    assert table["size"].to_pylist() == [1.5, -20.0, None]
    assert table["pair"].to_pylist() == ["1,2", "x", "3,4"]


@pytest.mark.parametrize(
    ("name", "mark"),
    [("a.csv", ","), ("a.CSV", ";"), ("a.txt", "\t"), ("a.tsv", "\t"), ("a.tab", "\t")],
)
def test_delimiters(tmp_path: Path, name: str, mark: str) -> None:
    path = write(tmp_path, f"id{mark}x\na{mark}1\n", name)
    assert read_table(path, "nodes").to_pydict() == {"id": ["a"], "x": [1]}


def test_packed_files(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"id\tx\na\t1\n"), "nodes.tsv.gz")
    assert read_table(str(path), "nodes").to_pydict() == {"id": ["a"], "x": [1]}
    packed = tmp_path / "nodes.csv.zst"
    with pa.output_stream(str(packed), compression="zstd") as stream:
        stream.write(b"id,x\na,1\n")
    assert read_table(packed, "nodes").to_pydict() == {"id": ["a"], "x": [1]}


def test_parquet_file_and_folder(tmp_path: Path) -> None:
    table = pa.table({"id": ["007", "8"], "tags": [["a"], []]})
    pq.write_table(table, tmp_path / "nodes.parquet")
    assert read_table(tmp_path / "nodes.parquet", "nodes").equals(table)
    opened = open_table(tmp_path / "nodes.parquet", "nodes")
    assert not opened.is_text
    assert opened.read(["tags"]).column_names == ["tags"]
    folder = tmp_path / "parts.parquet"
    folder.mkdir()
    for part in range(2):
        pq.write_table(table, folder / f"part-{part}.parquet")
    assert read_table(folder, "nodes").num_rows == 4


def test_one_column_and_header_only(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "id\n007\n"), "nodes").num_columns == 1
    assert read_table(write(tmp_path, "id,x\n"), "nodes").num_rows == 0
    assert read_table(write(tmp_path, "id,x"), "nodes").column_names == ["id", "x"]
    assert read_table(write(tmp_path, "\n\nid\n7"), "nodes").to_pydict() == {"id": [7]}


def test_types_may_change_late_in_a_file(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i}\n" for i in range(2_000_000))
    table = read_table(write(tmp_path, f"id,x\n{rows}last,y\n"), "nodes")
    assert table.num_rows == 2_000_001
    assert table["x"][-1].as_py() == "y"


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"name": ["a", None], "x": [1.0, float("nan")]})
    assert read_table(frame, "nodes").to_pydict() == {"name": ["a", None], "x": [1.0, None]}
    # row numbers that a filter left behind are no column, an index with a name is one
    assert read_table(frame[1:], "nodes").column_names == ["name", "x"]
    assert set(read_table(frame.set_index("name"), "nodes").column_names) == {"name", "x"}


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.csv"
    assert refusal(path) == f"the nodes must be an existing file (got {path}); check the path"


def test_unknown_ending(tmp_path: Path) -> None:
    path = write(tmp_path, "id\n", "nodes.json")
    assert refusal(path, "edges") == (
        f"the edges must be a file that ends in .csv, .tsv or .parquet (got {path}); "
        "rename it, or give a table in memory"
    )


@pytest.mark.parametrize("ending", ["xlsx", "XLS", "ods"])
def test_spreadsheets(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path, "PK", f"nodes.{ending}")
    assert refusal(path) == (
        f"the nodes must be a CSV, TSV or Parquet file (got {path}, a spreadsheet); "
        "open it and save it as CSV"
    )


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8", "UTF-8-SIG"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    rows = "".join(f"{i},Stra\u00dfe {i}\n" for i in range(3000))
    path = write(tmp_path, f"id,M\u00fcnchen\n{rows}".encode(encoding))
    table = read_table(path, "nodes", encoding)
    assert table.column_names == ["id", "M\u00fcnchen"]
    assert table["M\u00fcnchen"][2999].as_py() == "Stra\u00dfe 2999"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"a,b\n1,M\xfcnchen\n", "utf-8"),
        (b"a,M\xfcnchen\n1,2\n", "utf-8"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-8"),
        (b"a,b\n1,\x81\n", "cp1252"),
    ],
)
def test_other_encodings_than_said(tmp_path: Path, content: bytes, encoding: str) -> None:
    path = write(tmp_path, content)
    for text in ([], ["b"]):
        with pytest.raises(DatasetError) as caught:
            open_table(path, "nodes", encoding).read(text=text)
        assert str(caught.value) == (
            f"the nodes must be text in {encoding} (got other bytes in {path}); "
            "name the encoding with --encoding, such as cp1252 or utf-16"
        )


def test_encodings_that_dont_exist(tmp_path: Path) -> None:
    for name in ("utf-9", "base64"):
        with pytest.raises(ConfigError) as caught:
            read_table(write(tmp_path, "id\n1\n"), "nodes", name)
        assert str(caught.value) == (
            f"encoding must be one that Python knows (got {name!r}); "
            "utf-8, cp1252, latin-1 and utf-16 are usual"
        )


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    assert refusal(path) == f"the nodes must have a line of column names (got {path}, empty)"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"a,b\n1,2\n3\n", "Expected 2 columns, got 1: 3"),
        ("a.csv.gz", b"a,b\n1,2\n", "incorrect header check"),
        ("a.parquet", b"a,b\n1,2\n", "Parquet"),
    ],
)
def test_unreadable_file(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    path = write(tmp_path, content, name)
    text = refusal(path)
    assert text.startswith(f"the nodes must be a readable text or Parquet file ({path}: ")
    assert reason in text
    assert "\n" not in text


def test_duplicate_columns(tmp_path: Path) -> None:
    expected = (
        "the columns of the nodes must have different names (got 'x' more than once); rename them"
    )
    assert refusal(write(tmp_path, "id,x,y,x \n1,2,3,4\n")) == expected
    assert refusal(pa.table([[1], [2]], names=["x", "x"])) == expected
    pd = pytest.importorskip("pandas")
    assert "Duplicate column names" in refusal(pd.DataFrame([[1, 2]], columns=["x", "x"]))


def test_mixed_columns_of_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    text = refusal(pd.DataFrame({"x": [1, "a"]}, dtype=object))
    assert "Conversion failed for column x" in text
    assert text.endswith("convert mixed columns, for instance with .astype(str)")


def test_other_objects() -> None:
    assert refusal([1, 2]) == (
        "the nodes must be a path, an Arrow table or a data frame (got list)"
    )
