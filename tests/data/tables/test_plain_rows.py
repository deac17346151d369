"""Rows of plain values are read as a text file with the same cells is."""

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from herofilter.data.tables.plain_rows import id_column, rows_table
from herofilter.data.tables.read_table import MISSING, open_table
from herofilter.errors import GraphError

CELLS = {
    "integer": ["1", "-2", "", "007"],
    "fraction": ["1.5", "1e3", "NA", " 2 "],
    "date": ["2020-01-31", "", "1999-12-01", "2020-02-29"],
    "time": ["2020-01-31 10:00:00", "", "1999-12-01 00:00:01", "2020-02-29 23:59:59"],
    "boolean": ["true", "false", "", "true"],
    "word": ["a", " b ", 'quote " and, comma', "line\nbreak"],
    "gaps": ["", "NA", "null", "None"],
    "mixed": ["1", "x", "true", "2020-01-31"],
    "code": ["007", "1", "NA", " 2"],
}


def test_text_is_read_as_in_a_file(tmp_path: Path) -> None:
    rows = [dict(zip(CELLS, row, strict=True)) for row in zip(*CELLS.values(), strict=True)]
    with (tmp_path / "nodes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(CELLS))
        writer.writeheader()
        writer.writerows(rows)
    wanted = open_table(tmp_path / "nodes.csv", "nodes").read(text=["code"])
    assert rows_table(rows, list(CELLS), text=["code"]).equals(wanted)
    assert wanted["code"].to_pylist() == ["007", "1", None, "2"]
    assert pa.types.is_date(wanted["date"].type)


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([1, None, 3], pa.int64(), [1, None, 3]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([True, None], pa.bool_(), [True, None]),
        ([None, None], pa.null(), [None, None]),
        ([1, "2"], pa.int64(), [1, 2]),
        ([1, "old"], pa.string(), ["1", "old"]),
        ([True, 2], pa.string(), ["true", "2"]),
        ([2**70, 1], pa.float64(), [2.0**70, 1.0]),
        ([[1, 2], None], pa.list_(pa.int64()), [[1, 2], None]),
        ([["a"], []], pa.list_(pa.string()), [["a"], []]),
    ],
)
def test_kinds_of_columns(values: list[Any], kind: pa.DataType, wanted: list[Any]) -> None:
    column = rows_table([{"c": value} for value in values], ["c"])["c"]
    assert column.type == kind
    assert column.to_pylist() == wanted


def test_gaps_and_absent_columns() -> None:
    table = rows_table([{"a": 1, "b": "x"}, {"c": 5}], ["a", "b", "d"])
    assert table.to_pydict() == {"a": [1, None], "b": ["x", None]}
    assert rows_table([], ["a"]).to_pydict() == {"a": []}
    many = rows_table([{"a": word} for word in MISSING], ["a"], text=["a"])
    assert many["a"].null_count == len(MISSING)


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ([{"a": 1}], "got an object"),
        ([[1], "x"], "got a list beside other values"),
        ([[[1]]], "got a list"),
        ([[{}]], "got an object"),
    ],
)
def test_values_that_no_column_holds(values: list[Any], got: str) -> None:
    with pytest.raises(GraphError, match=rf"the column 'c' must hold text, .*\({got}\); convert"):
        rows_table([{"c": value} for value in values], ["c"])


@pytest.mark.parametrize("values", [[[1, "a"]], [[2**70]]])
def test_lists_of_mixed_kinds(values: list[Any]) -> None:
    with pytest.raises(GraphError, match="the lists in the column 'c' must hold values of one"):
        rows_table([{"c": value} for value in values], ["c"])


def test_ids() -> None:
    assert id_column([1, 2]).type == pa.int64()
    assert id_column([1, 2**63]).type == pa.uint64()
    assert id_column([-1, 2**63]).to_pylist() == ["-1", str(2**63)]
    assert id_column(["a", " b", 3]).to_pylist() == ["a", " b", "3"]
    assert id_column([]).type == pa.string()
