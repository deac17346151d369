"""The undamaged inputs that are then damaged: tables, columns of any type, folders."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from herofilter.data import csbm, save_graph_folder
from herofilter.patchers import FastPatcher, write_patches

COUNT = 24
IDS = [f"user:{number}" for number in range(COUNT)]
_KINDS = (
    *(pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()),
    *(pa.decimal128(10, 2), pa.date32(), pa.timestamp("ns", "UTC"), pa.time64("us")),
    *(pa.duration("s"), pa.list_(pa.int32()), pa.list_(pa.list_(pa.float64()), 2)),
    *(pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())),
    *(pa.list_(pa.string()), pa.large_list(pa.float32()), pa.list_(pa.struct([("a", pa.int8())]))),
    pa.dictionary(pa.int8(), pa.string()),
)


def write_folder(name: str, folder: Path) -> None:
    """Write a folder of ``patches``, or of a graph."""
    data = csbm(num_nodes=COUNT, num_classes=2, average_degree=3, num_features=40, seed=1)
    if name == "patches":
        write_patches(FastPatcher(patch_size=3), data, folder, shard_rows=10)
    else:
        # few enough to be written in compressed rows
        data.x = data.x * (data.x > 2)
        save_graph_folder(data, folder)


def node_table() -> pa.Table:
    """Return a table of nodes with text, numbers, tags and classes."""
    rows = [row(number).split(",") for number in range(COUNT)]
    names = ("id", "age", "country", "tags", "topic")
    nodes = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    return nodes.set_column(1, "age", nodes["age"].cast(pa.float64()))


def row(number: int) -> str:
    """Return the line of a node in a CSV file."""
    tags = "a|b" if number % 2 else "c"
    cells = (IDS[number], f"{number / 7:.2f}", ("DE", "FR")[number % 2], tags, "ab"[number % 2])
    return ",".join(cells)


def any_column(draw: random.Random) -> pa.Array:
    """Return a column of any of Arrow's types."""
    kind = draw.choice(_KINDS)
    plain = [None if draw.random() < 0.1 else draw.choice((0, 1, 3)) for _ in range(COUNT)]
    values: list[Any] = plain
    if pa.types.is_nested(kind):
        values = [None if each is None else [] for each in plain]
        if pa.types.is_struct(kind):
            values = [None if each is None else {"a": each} for each in plain]
        elif pa.types.is_list(kind) and pa.types.is_integer(kind.value_type):
            values = [None if each is None else [each] * each for each in plain]
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        values = [None if each is None else str(each) for each in plain]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError):
        try:
            return pa.array(plain, pa.int64()).cast(kind)
        except pa.ArrowException:
            return pa.nulls(COUNT, kind)
