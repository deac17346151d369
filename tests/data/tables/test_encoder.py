import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from herofilter.data import FeatureEncoder, degree_features
from herofilter.errors import DatasetError, GraphError

NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def fit(**columns: Any) -> tuple[FeatureEncoder, pa.Table]:
    table = pa.table(columns)
    return FeatureEncoder.fit(table, table.column_names), table


def encoded(encoder: FeatureEncoder, **columns: Any) -> list[list[float]]:
    x = encoder.transform(pa.table(columns), NO_EDGES)
    assert x.dtype == torch.float32
    assert x.shape[1] == encoder.num_features
    dense: list[list[float]] = x.to_dense().tolist()
    return dense


def features(**columns: Any) -> dict[str, list[float]]:
    """Return each feature of a table by name."""
    encoder, _ = fit(**columns)
    by_feature = map(list, zip(*encoded(encoder, **columns), strict=True))
    return dict(zip(encoder.names, by_feature, strict=True))


def test_numbers_are_standardised() -> None:
    values = np.array([1.0, 2.0, 6.0])
    expected = (values - values.mean()) / values.std()
    assert features(x=values)["x"] == pytest.approx(expected.tolist())


def test_missing_and_infinite_numbers() -> None:
    found = features(x=[1.0, None, 3.0, float("inf"), float("nan")])
    assert found == {"x": [-1, 0, 1, 0, 0], "x is missing": [0, 1, 0, 1, 1]}


def test_missing_numbers_that_training_never_saw_are_average() -> None:
    encoder, _ = fit(x=[1.0, 3.0])
    assert encoded(encoder, x=[None, 5.0]) == [[0.0], [3.0]]
    assert encoded(encoder, x=pa.nulls(1)) == [[0.0]]


def test_numbers_of_other_types() -> None:
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)]
    moments = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 3)]
    encoder, _ = fit(day=days, time=moments, price=[Decimal("1.5"), Decimal("2.5")])
    assert encoder.names == ("day", "time", "price")
    # a date is the moment of its midnight, whichever type a later table has
    swapped = encoded(encoder, day=moments, time=days, price=[1.5, 2.5])
    assert swapped == [[-1, -1, -1], [1, 1, 1]]
    assert (
        encoder.columns[0].mean
        == datetime.datetime(  # type: ignore[union-attr]
            2020, 1, 2, tzinfo=datetime.UTC
        ).timestamp()
    )


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_day_and_durations(unit: str) -> None:
    day = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    for kind in (day, pa.duration(unit), pa.timestamp(unit, tz="Europe/Berlin")):
        assert features(t=pa.array([1000, 3000], kind))["t"] == pytest.approx([-1, 1])


def test_huge_numbers_stay_finite() -> None:
    assert features(x=[-1e308, 1e308, 0.0])["x"] == pytest.approx([-(1.5**0.5), 1.5**0.5, 0])
    assert features(x=[2**63 - 1, 0])["x"] == pytest.approx([1, -1])
    encoder, _ = fit(x=[0.0, 1e-300])
    assert encoded(encoder, x=[1e300, -1e300]) == [[1e6], [-1e6]]


def test_constant_columns_are_left_out() -> None:
    encoder, _ = fit(a=[0.1] * 3, b=[True] * 3, c=["x"] * 3, d=pa.nulls(3), e=[1, 2, 3])
    assert encoder.names == ("e",)
    assert encoder.notes == (
        "column 'a' was left out: every row says the same",
        "column 'b' was left out: every row says the same",
        "column 'c' was left out: every row says the same",
        "column 'd' was left out: it has no values",
    )


def test_one_value_or_missing_is_no_constant() -> None:
    found = features(a=[5, None], b=[True, None], c=["x", ""])
    assert found == {
        **{"a": [0, 0], "a is missing": [0, 1]},
        **{"b": [1, 0], "b is missing": [0, 1]},
        **{"c=x": [1, 0], "c is missing": [0, 1]},
    }


def test_booleans() -> None:
    encoder, _ = fit(vip=[True, False, None])
    assert encoder.names == ("vip", "vip is missing")
    assert encoded(encoder, vip=[1, 0, None]) == [[1, 0], [0, 0], [0, 1]]
    assert encoded(encoder, vip=["True", "false"]) == [[1, 0], [0, 0]]


def test_categories_by_frequency() -> None:
    encoder, _ = fit(country=["FR", "DE", "IT", "DE", "FR", None])
    assert encoder.names == ("country=DE", "country=FR", "country=IT", "country is missing")
    # nobody trained a weight for values that the training table never showed
    assert encoded(encoder, country=["IT", "XX", None]) == [[0, 0, 1, 0], [0] * 4, [0, 0, 0, 1]]


def test_rare_categories_are_other() -> None:
    values = [str(i) for i in range(250)] * 2
    encoder, _ = fit(code=[*values, "7"])
    assert encoder.num_features == 201
    assert encoder.names[0] == "code=7"
    assert encoder.names[-1] == "code is other"
    x = encoder.transform(pa.table({"code": ["7", "99", "unseen"]}), NO_EDGES)
    assert x.layout == torch.sparse_csr
    assert x.to_dense().sum(1).tolist() == [1, 1, 1]
    assert x.to_dense()[[0, 1, 2], [0, -1, -1]].tolist() == [1, 1, 1]


def test_categories_of_a_frame_and_numbers_later() -> None:
    pd = pytest.importorskip("pandas")
    encoder, _ = fit(grade=pd.Series([3, 1, 3, None], dtype="category"))
    assert encoder.names == ("grade=3", "grade=1", "grade is missing")
    assert encoded(encoder, grade=[1, 3]) == [[0, 1, 0], [1, 0, 0]]
    assert encoded(encoder, grade=pa.array(["1"], pa.string_view())) == [[0, 1, 0]]


def test_text_of_its_own_in_each_row_is_left_out() -> None:
    words = [f"about {i}" for i in range(50)]
    encoder, _ = fit(bio=words, few=words[:5] * 10)
    assert encoder.num_features == 5
    assert encoder.notes == (
        "column 'bio' was left out: nearly every value is different (50 in 50 rows)",
    )


def test_lists_of_text_and_numbers() -> None:
    found = features(tags=[["ml", "art", "ml"], None, ["ml"]], years=[[2019], [], [2020, None]])
    assert found == {
        "tags has ml": [1, 0, 1],
        "tags has art": [1, 0, 0],
        "years has 2019": [1, 0, 0],
        "years has 2020": [0, 0, 1],
    }


@pytest.mark.parametrize("mark", ["|", ";"])
def test_text_with_separators(mark: str) -> None:
    column = [f"a{mark} b{mark}", f"b{mark}c", "b", None]
    encoder, _ = fit(tags=column)
    assert encoder.names == ("tags has b", "tags has a", "tags has c")
    assert encoded(encoder, tags=column)[:3] == [[1, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert encoder.text_columns == ("tags",)


def test_at_most_5000_items() -> None:
    lists = [[f"word {i}", f"word {i + 1}"] for i in range(6000)]
    encoder, table = fit(words=lists)
    assert encoder.num_features == 5000
    x = encoder.transform(table, NO_EDGES)
    assert x.layout == torch.sparse_csr
    assert x.values().numel() <= 10_000


def test_vectors_stay_as_they_are() -> None:
    column = pa.array([[1.0, -2.5], None, [float("nan"), 7.0]], pa.list_(pa.float64()))
    encoder, table = fit(embedding=column)
    assert encoder.names == ("embedding[0]", "embedding[1]")
    assert encoder.transform(table, NO_EDGES).tolist() == [[1, -2.5], [0, 0], [0, 7]]
    with pytest.raises(GraphError) as caught:
        encoded(encoder, embedding=[[1.0]])
    assert str(caught.value) == (
        "every list in the column 'embedding' must hold 2 numbers (got one of 1)"
    )


def test_columns_without_a_use() -> None:
    encoder, _ = fit(a=[[1.0], [1.0, 2.0]], b=[{"x": 1}, {"x": 2}], c=[[[1]], [[2]]], d=[[], ["y"]])
    assert encoder.names == ("d has y",)
    assert encoder.notes == (
        "column 'a' was left out: its lists are of different lengths",
        "column 'b' was left out: values of the type struct<x: int64> aren't supported",
        "column 'c' was left out: lists of the type list<item: int64> aren't supported",
    )


def test_degrees_stand_in() -> None:
    edges = torch.tensor([[0, 0, 1], [1, 2, 2]])
    encoder = FeatureEncoder.fit(pa.table({"id": ["a", "b", "c"]}), [], edges)
    assert encoder.names == ("log out-degree", "log in-degree")
    assert encoder.notes == (
        "there are no feature columns, so the degrees of nodes are their features",
    )
    x = encoder.transform(pa.table({"id": ["a", "b", "c"]}), edges)
    assert torch.allclose(x, degree_features(edges, 3))
    # another graph is measured by the training graph's mean and spread
    lone = encoder.transform(pa.table({"id": ["z"]}), NO_EDGES)
    assert lone.shape == (1, 2)
    assert bool((lone < -0.9).all())


def test_equal_degrees_become_zero() -> None:
    encoder = FeatureEncoder.fit(pa.table({"id": [1, 2]}), [], torch.tensor([[0, 1], [1, 0]]))
    assert not encoder.transform(pa.table({"id": [1, 2]}), torch.tensor([[0, 1], [1, 0]])).any()


def test_way_through_json() -> None:
    columns = {
        "n": [0.1, None, 0.3, 0.7],
        "b": [True, False, None, True],
        "c": ["x", "y", "x", None],
        "t": ["a|b", "b|c", "c|a", None],
        "v": [[0.5, 1.5]] * 4,
    }
    encoder, table = fit(**columns)
    again = FeatureEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again == encoder
    assert torch.equal(again.transform(table, NO_EDGES), encoder.transform(table, NO_EDGES))
    bare = FeatureEncoder.fit(table, [], torch.tensor([[0, 1], [1, 2]]))
    assert FeatureEncoder.from_dict(json.loads(json.dumps(bare.to_dict()))) == bare


@pytest.mark.parametrize("values", [{}, {"columns": [{"kind": "x"}]}, {"columns": [3]}, []])
def test_other_json_is_refused(values: Any) -> None:
    with pytest.raises(DatasetError, match=r"must be what FeatureEncoder\.to_dict gave"):
        FeatureEncoder.from_dict(values)


def test_extra_columns_are_ignored_and_absent_ones_named() -> None:
    encoder, _ = fit(age=[1, 2])
    assert encoded(encoder, other=["x"], age=[1]) == [[-1.0]]
    with pytest.raises(DatasetError) as caught:
        encoded(encoder, id=[1], aged=[2])
    assert str(caught.value) == (
        "the nodes must have the column 'age', which the model was trained with "
        "(got 'id', 'aged') (did you mean 'aged'?)"
    )


@pytest.mark.parametrize(
    ("trained", "later", "wanted", "got"),
    [
        ([1, 2], ["31", "old"], "numbers", "string, such as '31'"),
        ([True, False], ["yes"], "true or false", "string, such as 'yes'"),
        ([["a"], ["b"]], [1], "lists", "int64, such as 1"),
        (["a", "b"], [["a"]], "text", "list<item: string>, such as ['a']"),
    ],
)
def test_other_kinds_than_in_training(
    trained: list[Any], later: list[Any], wanted: str, got: str
) -> None:
    encoder, _ = fit(x=trained)
    with pytest.raises(GraphError) as caught:
        encoded(encoder, x=later)
    assert str(caught.value) == (
        f"the column 'x' must hold {wanted}, as in the training table (got {got}); "
        "convert it, or train anew"
    )


def test_chunks_make_no_difference() -> None:
    columns = {"n": [1, 2, None, 4], "c": ["x", "y", "x", None], "t": [["a"], ["b", "a"], None, []]}
    encoder, table = fit(**columns)
    pieces = pa.concat_tables([table.slice(i, 1) for i in range(4)])
    assert FeatureEncoder.fit(pieces, list(columns)) == encoder
    assert torch.equal(encoder.transform(pieces, NO_EDGES), encoder.transform(table, NO_EDGES))
