"""Text columns that are numbers or dates in truth, and cells that aren't."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

from herofilter.data import FeatureEncoder, TableGraph, read_graph
from herofilter.data.tables.column_spelling import read_as_spelt, read_spelt
from herofilter.data.tables.extend_graph import read_extended
from herofilter.errors import GraphError


def spelt(*cells: str | None, semicolons: bool = False) -> tuple[list[Any], str | None, list[str]]:
    """Return the values of a column, its spelling if it isn't plain, and the notes on it."""
    table = pa.table({"x": pa.array(cells, pa.string())})
    found, names, notes = read_spelt(table, ["x"], semicolons)
    return found["x"].to_pylist(), names.get("x"), notes


def graph_of(folder: Path, cells: list[str], **settings: Any) -> TableGraph:
    rows = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells))
    (folder / "nodes.csv").write_text(f"id,income\n{rows}")
    (folder / "edges.csv").write_text("source,target\n0,1\n")
    return read_graph(folder / "edges.csv", folder / "nodes.csv", **settings)


NUMBERS = [str(number) for number in range(119)]


def test_one_odd_cell_is_a_gap_with_a_note(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, [*NUMBERS, "11.90k"])
    assert graph.encoder.names == ("income", "income is missing")
    assert graph.data.x[:, 1].tolist() == [0.0] * 119 + [1.0]
    assert graph.notes == (
        "1 of 120 cells of 'income' isn't a number, such as '11.90k'; it counts as missing",
    )
    clean = graph_of(tmp_path, [*NUMBERS, ""])
    assert torch.equal(clean.data.x, graph.data.x)
    assert clean.notes == ()


@pytest.mark.parametrize(
    ("numbers", "odd", "is_numeric"), [(38, 2, True), (37, 2, False), (20, 1, True), (19, 1, False)]
)
def test_up_to_one_cell_in_twenty_may_be_odd(numbers: int, odd: int, is_numeric: bool) -> None:
    cells = [*map(str, range(numbers)), *["?", "k"][:odd], None]
    values, _, notes = spelt(*cells)
    if not is_numeric:
        assert (values, notes) == (cells, [])
        return
    assert values == [*range(numbers), *[None] * odd, None]
    verb = ("isn't a number", "it counts") if odd == 1 else ("aren't numbers", "they count")
    assert notes == [
        f"{odd} of {numbers + odd} cells of 'x' {verb[0]}, such as '?'; {verb[1]} as missing"
    ]


def test_codes_and_words_stay_text() -> None:
    for cells in (["007", "x", *NUMBERS], ["a"] * 30, ["1,23,456"], ["1,234", "12345"], [None, ""]):
        assert spelt(*cells) == (cells, None, [])


@pytest.mark.parametrize(
    ("cells", "name", "values"),
    [
        (["1,234,567", "950", None], "1,234.5", [1234567, 950, None]),
        (["1,234.5", "-2,000"], "1,234.5", [1234.5, -2000]),
        (["1.234,5", "7"], "1.234,5", [1234.5, 7]),
        (["1.234.567", "12"], "1.234,5", [1234567, 12]),
        (["1 234", "1\u202f234\u00a0567"], "1 234.5", [1234, 1234567]),
        (["1 234,5", "0,25"], "1 234,5", [1234.5, 0.25]),
        (["12,5", "1234,75"], "1234,5", [12.5, 1234.75]),
    ],
)
def test_thousands_and_decimals(cells: list[str], name: str, values: list[float]) -> None:
    found, key, notes = spelt(*cells)
    assert (found, key) == (values, name)
    assert notes == [f"'x' holds numbers like {cells[0]!r}, read as {values[0]}"]


@pytest.mark.parametrize(
    ("semicolons", "taken", "other"), [(False, 1234, 1.234), (True, 1.234, 1234)]
)
def test_one_comma_means_what_the_file_makes_likely(
    semicolons: bool, taken: float, other: float
) -> None:
    values, _, notes = spelt("950", "1,234", semicolons=semicolons)
    assert values == [950, taken]
    assert notes == [
        f"'x' holds numbers like '1,234', read as {taken}, though it could also be {other}; "
        "write it like that if it is"
    ]


@pytest.mark.parametrize(
    ("cells", "name", "order"),
    [
        (["31/12/2020", "01/02/2020"], "d/m/y", "day/month/year"),
        (["12/31/2020", "02/01/2020"], "m/d/y", "month/day/year"),
        (["31.12.2020", "1.2.2020"], "d/m/y", "day/month/year"),
        (["31-12-2020", "01-02-2020 00:00"], "d/m/y", "day/month/year"),
    ],
)
def test_dates(cells: list[str], name: str, order: str) -> None:
    values, key, notes = spelt(*cells)
    assert values == [datetime.datetime(2020, 12, 31), datetime.datetime(2020, 2, 1)]
    assert key == name
    assert notes == [f"'x' holds dates like {cells[0]!r}, read as {order}: 2020-12-31"]


def test_dates_that_no_value_tells_apart() -> None:
    values, key, notes = spelt("05/05/2020", "03/04/2020")
    assert (values[1], key) == (datetime.datetime(2020, 4, 3), "d/m/y")
    assert notes == [
        "'x' holds dates like '03/04/2020', read as day/month/year: 2020-04-03, though it could "
        "also be 2020-03-04; write it like that if it is"
    ]
    # with dots the day comes first everywhere, and here both readings agree
    assert "though" not in spelt("03.04.2020")[2][0] + spelt("05/05/2020")[2][0]


def test_a_day_that_isnt_in_the_calendar_is_odd() -> None:
    values, key, notes = spelt(*["2020-02-29"] * 20, "2021-02-29")
    assert (values[0], values[-1], key) == (datetime.datetime(2020, 2, 29), None, "y-m-d")
    assert notes == [
        "1 of 21 cells of 'x' isn't a date, such as '2021-02-29'; it counts as missing"
    ]


def test_times_with_zones() -> None:
    cells = ["2020-01-02T03:04:05.5Z", "2020-01-02 03:04+02:00", "2020-01-02 03:04-0530"]
    found, _ = read_as_spelt(pa.table({"x": cells}), {"x": "y-m-d"})
    expected = pa.chunked_array([cells]).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    assert found["x"].equals(expected)


def test_text_of_typed_tables_stays_text() -> None:
    edges = pa.table({"source": [0], "target": [1]})
    nodes = pa.table({"id": [0, 1], "zip": ["1,234", "5,678"]})
    assert read_graph(edges, nodes).encoder.names == ("zip=1,234", "zip=5,678")


# later tables


def test_a_later_table_is_spelt_as_the_first(tmp_path: Path) -> None:
    first = graph_of(tmp_path, ["1.234,5", "7,25"])
    encoder = FeatureEncoder.from_dict(json.loads(json.dumps(first.encoder.to_dict())))
    assert encoder == first.encoder
    # alone this would be 1.2345
    later = graph_of(tmp_path, ["1.234,5", "1.234"], encoder=encoder)
    plain = graph_of(tmp_path, ["1234.5", "7.25"]).encoder
    expected = graph_of(tmp_path, ["1234.5", "1234"], encoder=plain)
    assert torch.equal(later.data.x, expected.data.x)


@pytest.mark.parametrize(
    ("trained", "odd"),
    [
        (["1", "3"], "11.90k"),
        (["1,234.5", "3"], "11.90k"),
        (["2020-01-01", "2020-01-03"], "soon"),
        (["2020-01-01", "2020-01-03"], "2020"),
        (["13/01/2020", "14/01/2020"], "2020-01-01"),
    ],
)
def test_a_later_odd_cell_is_a_gap_with_a_note(
    tmp_path: Path, trained: list[str], odd: str
) -> None:
    graph = graph_of(tmp_path, trained)
    noun = "date" if "20" in trained[0] else "number"
    note = f"1 of 1 cells of 'income' isn't a {noun}, such as {odd!r}; it counts as missing"
    (tmp_path / "new.csv").write_text(f"id,income\n7,{odd}\n")
    extended, rows = read_extended(graph, nodes=tmp_path / "new.csv")
    assert extended.data.x[rows].tolist() == [[0.0]]
    assert extended.notes[0] == note
    alone = graph_of(tmp_path, [odd, trained[1]], encoder=graph.encoder)
    assert alone.data.x[:, 0].tolist() == [0.0, float(graph.data.x[1, 0])]
    assert alone.notes == (note.replace("1 of 1", "1 of 2"),)


def test_later_decimal_commas_beside_semicolons(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, ["1.5", "3.5"])
    (tmp_path / "new.csv").write_text("id;income\n7;1,5\n8;?\n")
    extended, rows = read_extended(graph, nodes=tmp_path / "new.csv")
    assert extended.data.x[rows].tolist() == [[-1.0], [0.0]]


def test_a_later_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, ["1", "3"])
    with pytest.raises(GraphError) as caught:
        graph_of(tmp_path, ["low"] * 11 + ["1"] * 10, encoder=graph.encoder)
    assert str(caught.value) == (
        "the column 'income' must hold numbers, as in the training table "
        "(got 11 of 21 cells that aren't, such as 'low'); convert it, or train anew"
    )


def test_an_encoder_of_an_earlier_version_is_read() -> None:
    values = FeatureEncoder.fit(pa.table({"x": [1, 2]}), ["x"]).to_dict()
    del values["spelt"]
    assert FeatureEncoder.from_dict(values).spelt == ()
