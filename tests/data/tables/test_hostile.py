"""Tables of rare types and damaged files: read, or refused in one sentence."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from herofilter.data import read_graph
from herofilter.data.tables.plain_types import plain_types
from herofilter.errors import DatasetError, HeroFilterError

IDS = ["a", "b", "c", "d"]
EDGES = pa.table({"source": IDS, "target": IDS[::-1]})


def nodes(**columns: pa.Array) -> pa.Table:
    return pa.table({"id": IDS, "topic": ["x", "y", "x", "y"], **columns})


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_of_any_type(kind: pa.DataType) -> None:
    text = pa.array(IDS).cast(kind)
    table = pa.table({"id": text, "topic": pa.array(["x", "y", "x", "y"]).cast(kind)})
    edges = pa.table({"source": text, "target": text})
    graph = read_graph(edges, table, "topic")
    assert graph.classes == ("x", "y")
    assert graph.position("c") == 2


def test_half_floats_are_numbers() -> None:
    half = pa.array(np.array([1, 2, 3, 4], np.float16))
    graph = read_graph(EDGES, nodes(age=half), "topic")
    assert graph.encoder.names == ("age",)
    ids = pa.table({"id": half, "topic": ["x", "y", "x", "y"]})
    assert read_graph(pa.table({"source": [1], "target": [2]}), ids, "topic").position(3) == 2


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\xff", b"a", None, b""]),
        pa.array([[[1.0]], None, [], [[2.0, 3.0]]], pa.list_(pa.list_(pa.float64()))),
        pa.array([{"a": 1}, None, {"a": 2}, {"a": 3}]),
        pa.array([[("k", 1)], None, [], []], pa.map_(pa.string(), pa.int8())),
        pa.array([[1.0], None, [2.0], []], pa.list_(pa.float16())),
    ],
)
def test_columns_that_cannot_be_learned_from(column: pa.Array) -> None:
    assert len(read_graph(EDGES, nodes(more=column), "topic").ids) == 4
    for name in ("id", "topic"):
        table = nodes().set_column(nodes().column_names.index(name), name, column)
        with pytest.raises(HeroFilterError) as caught:
            read_graph(EDGES, table, "topic")
        assert "\n" not in str(caught.value)


def test_nested_types_become_plain() -> None:
    column = pa.array([["a"], None], pa.list_(pa.string_view()))
    found = plain_types(pa.table({"tags": column}))
    assert found.schema.types == [pa.large_list(pa.large_string())]
    assert found["tags"].to_pylist() == [["a"], None]


@pytest.mark.parametrize("text", ["id,topic\n", "id,topic", "", "\n\n", "id\n", ",\n,\n"])
def test_nodes_without_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "nodes.csv").write_text(text)
    with pytest.raises(HeroFilterError) as caught:
        read_graph(EDGES, tmp_path / "nodes.csv", "topic")
    assert "\n" not in str(caught.value)
    with pytest.raises(HeroFilterError):
        read_graph(EDGES, nodes().slice(0, 0), "topic")


def test_pipes_devices_and_folders_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    for name in ("pipe.csv", "zero.csv", "folder.csv"):
        with pytest.raises(DatasetError, match="must be a regular file"):
            read_graph(tmp_path / name)
    with pytest.raises(DatasetError, match="must be an existing file") as caught:
        read_graph(tmp_path / ("x" * 5000 + ".csv"))
    assert len(str(caught.value)) < 500


def test_text_of_a_parquet_file_that_is_no_text(tmp_path: Path) -> None:
    bytes_ = pa.array([b"a", b"\xe5\xff", b"c", b"d"])
    odd = pa.Array.from_buffers(pa.string(), 4, bytes_.buffers())
    pq.write_table(nodes(country=odd), tmp_path / "nodes.parquet")
    with pytest.raises(DatasetError, match="must be a readable text or Parquet file") as caught:
        read_graph(EDGES, tmp_path / "nodes.parquet", "topic")
    assert "UTF8" in str(caught.value)
