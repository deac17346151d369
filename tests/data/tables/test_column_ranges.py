"""Columns as ranges of features, and cells read back from them."""

import datetime

import numpy as np
import pyarrow as pa
import torch

from herofilter.data import read_graph
from herofilter.data.tables.column_ranges import cell_text, column_ranges
from herofilter.data.tables.encoder import FeatureEncoder

NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def test_ranges_cover_all_features_in_order() -> None:
    table = pa.table(
        {
            "age": [20, 40, None],
            "adult": [True, False, None],
            "country": ["DE", "FR", "DE"],
            "tags": ["a|b", "b|c", "a|c"],
            "vector": [[0.5, 1.0], [1.5, 2.0], [0.0, 3.0]],
        }
    )
    encoder = FeatureEncoder.fit(table, table.column_names)
    ranges = column_ranges(encoder, encoder.num_features)
    assert [each.name for each in ranges] == table.column_names
    assert [each.width for each in ranges] == [2, 2, 2, 3, 2]
    assert [each.start for each in ranges[1:]] == [each.stop for each in ranges[:-1]]
    assert ranges[-1].stop == encoder.num_features
    for each in ranges:
        names = encoder.names[each.start : each.stop]
        assert all(name.startswith(each.name) for name in names)


def test_degrees_are_two_columns() -> None:
    encoder = FeatureEncoder.fit(pa.table({"id": [1, 2]}), [], NO_EDGES)
    assert [each.name for each in column_ranges(encoder, 2)] == ["log out-degree", "log in-degree"]
    assert cell_text(encoder, "log in-degree", np.array([0.5])) is None


def test_cells_are_read_back() -> None:
    table = pa.table(
        {
            "age": [20, 40, None],
            "adult": [True, False, None],
            "country": ["DE", "FR", None],
            "tags": ["a|b", "b|c", "a"],
            "vector": [[0.5, 1.0], [1.5, 2.0], [0.0, 3.0]],
        }
    )
    encoder = FeatureEncoder.fit(table, table.column_names)
    x = encoder.transform(table, NO_EDGES).to_dense().numpy()
    shown = {
        each.name: [cell_text(encoder, each.name, row[each.start : each.stop]) for row in x]
        for each in column_ranges(encoder, x.shape[1])
    }
    assert shown == {
        "age": ["20", "40", "missing"],
        "adult": ["true", "false", "missing"],
        "country": ["DE", "FR", "missing"],
        "tags": ["a, b", "b, c", "a"],
        "vector": [None, None, None],
    }
    new = pa.table({**table.to_pydict(), "country": ["IT"] * 3, "tags": ["z|y"] * 3})
    row = encoder.transform(new, NO_EDGES).to_dense().numpy()[0]
    country, tags = column_ranges(encoder, x.shape[1])[2:4]
    assert cell_text(encoder, "country", row[country.start : country.stop]) == (
        "a value unknown in training"
    )
    assert cell_text(encoder, "tags", row[tags.start : tags.stop]) == "none"


def test_long_lists_are_cut() -> None:
    table = pa.table({"tags": ["|".join("abcdefgh"), "a|b"]})
    encoder = FeatureEncoder.fit(table, ["tags"])
    row = encoder.transform(table, NO_EDGES).to_dense().numpy()[0]
    assert cell_text(encoder, "tags", row) == "a, b, c, d, e, 3 more"


def test_dates_of_text_files_are_dates_again(tmp_path) -> None:
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(days=977 * i) for i in range(25)]
    lines = [f"{i},{day.isoformat()},{day:%d/%m/%Y}" for i, day in enumerate(days)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,born,joined", *lines]) + "\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    graph = read_graph(tmp_path / "edges.csv", tmp_path / "nodes.csv")
    x = graph.data.x.numpy()
    for column in column_ranges(graph.encoder, 2):
        shown = [cell_text(graph.encoder, column.name, row[column.start :]) for row in x]
        assert shown == [day.isoformat() for day in days]


def test_a_date_of_other_files_is_not_shown_as_seconds() -> None:
    table = pa.table({"day": pa.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)])})
    encoder = FeatureEncoder.fit(table, ["day"])
    assert cell_text(encoder, "day", np.array([1.0])) is None
