from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch import Tensor

from herofilter.callbacks import Event
from herofilter.data.tables.predictions import predictions_table, write_predictions
from herofilter.errors import ConfigError, GraphError
from tests.events import steps

PLAIN = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
SHARES = torch.rand(90, 3, dtype=torch.float64)


def texts(odd: str = "") -> pa.Array:
    names = [f"user:{number}" for number in range(90)]
    names[80] += odd
    return pa.array(names)


@pytest.mark.parametrize(
    ("ids", "classes", "plain"),
    [
        (texts(), ["a", "b", "c"], True),
        (pa.array(range(90)), [0, 1, 2], True),
        # one value that needs quotes, and long after the first part
        (texts(", jr"), ["a", "b", "c"], False),
        (texts(), ["a", "b, or c", "d"], False),
        (texts(), ["id", 'say "b"', "c"], False),
        (texts("\n"), ["a", "b", "c"], False),
    ],
)
def test_parts_give_the_bytes_of_the_whole(
    tmp_path: Path, ids: pa.Array, classes: list, plain: bool
) -> None:
    table = predictions_table(ids, classes, SHARES)
    pyarrow.csv.write_csv(table, tmp_path / "at-once.csv", PLAIN if plain else None)
    if not plain:
        with pytest.raises(pa.ArrowInvalid):
            pyarrow.csv.write_csv(table, tmp_path / "no.csv", PLAIN)
    expected = (tmp_path / "at-once.csv").read_bytes()
    for size in (7, 40, 90):
        write_predictions(tmp_path / "parts.csv", ids, classes, iter(SHARES.split(size)))
        assert (tmp_path / "parts.csv").read_bytes() == expected
    write_predictions(tmp_path / "parts.csv", ids, classes, SHARES)
    assert (tmp_path / "parts.csv").read_bytes() == expected


def test_parquet_is_the_same_file_in_one_part_and_the_same_table_in_several(
    tmp_path: Path,
) -> None:
    table = predictions_table(texts(), ["a", "b", "c"], SHARES)
    pyarrow.parquet.write_table(table, tmp_path / "at-once.parquet")
    path = tmp_path / "parts.parquet"
    write_predictions(path, texts(), ["a", "b", "c"], SHARES)
    assert path.read_bytes() == (tmp_path / "at-once.parquet").read_bytes()
    write_predictions(path, texts(), ["a", "b", "c"], iter(SHARES.split(7)))
    assert pyarrow.parquet.read_table(path).equals(table)


def test_one_part_is_asked_for_at_a_time_and_reported(tmp_path: Path) -> None:
    events: list[Event] = []

    def parts() -> Iterator[Tensor]:
        for number, part in enumerate(SHARES.split(40)):
            assert len(events) == number
            yield part

    write_predictions(tmp_path / "p.csv", texts(), ["a", "b", "c"], parts(), events.append)
    assert steps(events) == [(40, 90), (80, 90), (90, 90)]


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")

    def parts() -> Iterator[Tensor]:
        yield SHARES[:40]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_predictions(tmp_path / name, texts(), ["a", "b", "c"], parts())
    with pytest.raises(GraphError) as caught:
        write_predictions(tmp_path / name, texts(), ["a", "b", "c"], SHARES[:40])
    assert str(caught.value) == (
        "there must be a row of probabilities for each of 90 ids (got 40 rows)"
    )
    assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["p.xlsx", "p.ODS"])
def test_spreadsheets_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        write_predictions(tmp_path / name, texts(), ["a", "b", "c"], SHARES)
    assert str(caught.value) == (
        f"predictions must be written to a .csv or .parquet file (got {tmp_path / name}, a "
        f"spreadsheet); give {tmp_path / 'p.csv'}, which spreadsheet programs open"
    )
    assert not list(tmp_path.iterdir())


def test_no_nodes_give_a_head_without_rows(tmp_path: Path) -> None:
    write_predictions(tmp_path / "p.csv", texts()[:0], ["a", "b", "c"], SHARES[:0])
    assert (tmp_path / "p.csv").read_text() == "id,label,part,prediction,confidence,a,b,c\n"


@pytest.mark.parametrize("size", [1, 2, 4])
def test_what_is_known_stands_beside_what_is_predicted(tmp_path: Path, size: int) -> None:
    shares = torch.tensor([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    labels, parts = torch.tensor([1, 0, -1, 0]), torch.tensor([0, 1, -1, 2])
    ids = pa.array(["u", "v", "w", "x"])
    for name in ("p.csv", "p.parquet"):
        pieces = iter(shares.split(size))
        write_predictions(tmp_path / name, ids, ["no", "part"], pieces, None, labels, parts)
    # a class may be called like a column
    assert (tmp_path / "p.csv").read_text().splitlines() == [
        "id,label,part,prediction,confidence,no,probability of part",
        "u,part,train,part,0.75,0.25,0.75",
        "v,no,val,no,0.5,0.5,0.5",
        "w,,none,no,1,1,0",
        "x,no,test,part,0.8,0.2,0.8",
    ]
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    assert table["label"].to_pylist() == ["part", "no", None, "no"]
    assert table["part"].to_pylist() == ["train", "val", "none", "test"]


def test_truth_is_written_small_like_its_column(tmp_path: Path) -> None:
    shares = torch.tensor([[0.25, 0.75]])
    write_predictions(tmp_path / "p.csv", pa.array([7]), [False, True], shares)
    assert (tmp_path / "p.csv").read_text().splitlines() == [
        "id,label,part,prediction,confidence,false,true",
        "7,,none,true,0.75,0.25,0.75",
    ]
