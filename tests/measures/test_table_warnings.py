"""Warnings about tables: each with its text, and none about tables as they should be."""

import dataclasses
import random

import pyarrow as pa
import pytest
import torch

from herofilter.data import TableGraph, random_splits, read_graph
from herofilter.data.tables.id_like import id_like_columns
from herofilter.measures import (
    data_card,
    repeats_by_chance,
    single_column_accuracy,
    table_warnings,
)
from herofilter.measures.fit_warning import FitWarning, listed

N = 120


def columns(seed: int = 0) -> dict[str, list[object]]:
    draw = random.Random(seed)
    return {
        "id": [f"n{i}" for i in range(N)],
        "age": [draw.gauss(40, 10) for _ in range(N)],
        "country": [draw.choice(["DE", "FR", "IT"]) for _ in range(N)],
        "tags": ["|".join(draw.sample("abcd", 2)) for _ in range(N)],
        "topic": [("x", "y", "z")[i % 3] for i in range(N)],
    }


def ring(num_nodes: int = N) -> pa.Table:
    ids = [f"n{i}" for i in range(num_nodes)]
    return pa.table({"source": ids, "target": [*ids[1:], ids[0]]})


def split_graph(table: dict[str, list[object]], edges: pa.Table | None = None) -> TableGraph:
    graph = read_graph(ring() if edges is None else edges, pa.table(table), "topic")
    data = graph.data
    masks = random_splits(data.y, 1, (0.6, 0.2, 0.2))
    data.train_mask, data.val_mask, data.test_mask = (mask[:, 0] for mask in masks)
    return graph


def warnings_of(graph: TableGraph) -> list[FitWarning]:
    return list(table_warnings(graph, data_card(graph.data)))


def test_a_table_as_it_should_be() -> None:
    assert warnings_of(split_graph(columns())) == []


def test_a_warning_is_a_sentence_with_its_cure_and_plain_values() -> None:
    warning = FitWarning("kind", "something is odd", "change it", "columns")
    assert str(warning) == "something is odd; change it"
    assert warning.to_dict() == {
        "kind": "kind",
        "sentence": "something is odd",
        "cure": "change it",
        "where": "columns",
    }
    assert listed(["a", "b"]) == "a and b"


def test_an_id_column() -> None:
    (warning,) = warnings_of(split_graph({**columns(), "customer": list(range(7, 7 + N))}))
    assert (warning.kind, warning.where) == ("id-column", "columns")
    assert str(warning) == (
        "the column 'customer' holds another whole number in each of 120 rows, like an id, which "
        "says nothing about other nodes; if it is one, name the other columns with --features"
    )


SPREAD = [i * i * 37 for i in range(60)]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("row", range(60), True),
        ("row", [float(i) for i in range(60)], True),
        ("population", SPREAD, False),
        ("customer_id", SPREAD, True),
        ("customerId", SPREAD, True),
        ("ID", SPREAD, True),
        ("paid", SPREAD, False),
        ("population", [i * i * 37 for i in range(1200)], True),
        ("customer_id", [*SPREAD[1:], None], False),
        ("customer_id", [*SPREAD[1:], SPREAD[1]], False),
        ("customer_id", [x + 0.5 for x in SPREAD], False),
        ("row", [*map(float, range(59)), float("nan")], False),
        ("row", range(10), False),
        ("row", [str(i) for i in range(60)], False),
    ],
)
def test_what_looks_like_an_id(name: str, values: list[object], expected: bool) -> None:
    assert id_like_columns(pa.table({name: list(values)}), [name]) == ((name,) if expected else ())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("price", {"x": 1.0, "y": 5.0, "z": 9.0}),
        ("status", {"x": "open", "y": "closed", "z": "lost"}),
        ("signs", {"x": "a|b", "y": "b|c", "z": "a|c"}),
    ],
)
def test_a_column_that_tells_the_class(column: str, values: dict[str, object]) -> None:
    table = columns()
    table[column] = [values[topic] for topic in table["topic"]]
    graph = split_graph(table)
    (warning,) = warnings_of(graph)
    assert (warning.kind, warning.where) == ("telling-column", "columns")
    assert str(warning) == (
        f"the column {column!r} alone tells the class of 100.0 % of the validation nodes "
        "(always 'x': 33.3 %), as if it were filled in once the class is known; "
        "if later tables won't have it, name the other columns with --features"
    )
    # of labels, those of the test nodes aren't read
    data = graph.data.clone()
    data.y = data.y.where(~data.test_mask, (data.y + 1) % 3)
    assert single_column_accuracy(data, graph.encoder)[column] == 1.0


def test_a_category_for_nearly_every_row_tells_nothing() -> None:
    table = columns()
    # known rows are told, but their values don't come again
    table["street"] = [f"street {i // 2 if i % 12 else 0}" for i in range(N)]
    graph = split_graph(table)
    assert single_column_accuracy(graph.data, graph.encoder)["street"] < 0.6
    assert warnings_of(graph) == []


def test_gaps_can_tell_the_class() -> None:
    table = columns()
    table["closed"] = [
        None if topic == "x" else 5.0 + i % 7 for i, topic in enumerate(table["topic"])
    ]
    table["topic"] = ["x" if topic == "x" else "y" for topic in table["topic"]]
    graph = split_graph(table)
    assert [warning.kind for warning in warnings_of(graph)] == ["telling-column"]


def test_rare_classes() -> None:
    table = columns()
    table["topic"][:4] = ["rare", "rare", "rare", "single"]
    graph = split_graph(table)
    (warning,) = warnings_of(graph)
    assert (warning.kind, warning.where) == ("rare-classes", "classes")
    assert str(warning) == (
        "the classes 'rare' (1) and 'single' (1) have at most two training nodes, too few to learn "
        "from; label more such nodes, or merge what is rare with other classes"
    )
    table = columns()
    table["topic"][:4] = ["rare"] * 4
    assert str(warnings_of(split_graph(table))[0]).startswith(
        "the class 'rare' (2) has at most two training nodes"
    )


def test_a_large_majority() -> None:
    table = columns()
    table["topic"] = ["no" if i % 10 < 8 else "yes" for i in range(N)]
    (warning,) = warnings_of(split_graph(table))
    assert (warning.kind, warning.where) == ("imbalance", "classes")
    assert str(warning) == (
        "80.6 % of the training nodes are 'no', so that accuracy says little; "
        "choose by balanced accuracy with --metric balanced, or try --class-weights"
    )


def test_isolated_nodes() -> None:
    (warning,) = warnings_of(split_graph(columns(), ring(90)))
    assert (warning.kind, warning.where) == ("isolated-nodes", "nodes")
    assert str(warning) == (
        "30 of 120 nodes (25.0 %) have no edges, so that their predictions rest on their own "
        "columns alone; if that isn't meant, check that both tables spell the ids alike"
    )


def test_rows_that_stand_twice() -> None:
    table = columns()
    for name in ("age", "country", "tags", "topic"):
        table[name][60:90] = table[name][:30]
    graph = split_graph(table)
    (warning,) = warnings_of(graph)
    repeated = data_card(graph.data).repeated_test_rows
    assert (warning.kind, warning.where) == ("repeated-rows", "split")
    assert str(warning) == (
        f"{repeated} of 24 test nodes ({100 * repeated / 24:.1f} %) have exactly the columns of a "
        "training node, so that the test score flatters the model; remove rows that stand twice "
        "in the table, or keep them in one part with --split"
    )


def test_rows_of_coarse_columns_repeat_without_a_warning() -> None:
    table = columns()
    del table["age"], table["tags"]
    graph = split_graph(table)
    assert data_card(graph.data).repeated_test_rows == 24
    assert repeats_by_chance(graph.data, graph.encoder) == 24
    assert warnings_of(graph) == []
    # ages in years agree now and then, though most rows differ
    table["age"] = [round(each / 2) for each in columns()["age"]]
    graph = split_graph(table)
    assert data_card(graph.data).repeated_test_rows > 5
    assert warnings_of(graph) == []


def test_vectors_do_not_repeat_by_chance() -> None:
    draw = random.Random(0)
    table = columns()
    table["vector"] = [[draw.random(), draw.random()] for _ in range(N)]
    for name in ("age", "country", "tags", "topic", "vector"):
        table[name][60:90] = table[name][:30]
    del table["age"], table["tags"]
    graph = split_graph(table)
    assert repeats_by_chance(graph.data, graph.encoder) == 0
    assert [warning.kind for warning in warnings_of(graph)] == ["repeated-rows"]


def test_without_a_split_labels_are_not_looked_at() -> None:
    table = columns()
    table["price"] = [float(ord(topic)) for topic in table["topic"]]
    table["topic"][0] = "single"
    graph = read_graph(ring(), pa.table(table), "topic")
    assert warnings_of(graph) == []


def test_test_labels_have_no_say() -> None:
    table = columns()
    table["topic"] = ["no" if i % 10 < 8 else "yes" for i in range(N)]
    table["status"] = list(table["topic"])
    graph = split_graph(table)
    kinds = [warning.kind for warning in warnings_of(graph)]
    assert kinds == ["imbalance", "telling-column"]
    data = graph.data.clone()
    data.y = data.y.where(~data.test_mask, 1 - data.y)
    assert warnings_of(dataclasses.replace(graph, data=data)) == warnings_of(graph)


def test_degrees_are_no_columns_that_repeat() -> None:
    table = {name: values for name, values in columns().items() if name in ("id", "topic")}
    assert warnings_of(split_graph(table)) == []
    assert torch.isfinite(split_graph(table).data.x).all()


def test_edges_that_belong_to_other_nodes() -> None:
    draw = random.Random(0)
    names = [f"n{i}" for i in range(N)]
    pairs = [draw.sample(names, 2) for _ in range(6 * N)]
    edges = pa.table(dict(zip(("source", "target"), zip(*pairs, strict=True), strict=True)))
    graph = split_graph(columns(), edges)
    (warning,) = warnings_of(graph)
    assert (warning.kind, warning.where) == ("unrelated-edges", "nodes")
    assert "edges between training nodes are paired as by chance (p = 0." in warning.sentence
    assert warning.cure == "if it should, check that both tables mean the same node by the same id"
    # too few edges between training nodes say nothing either way
    few = pa.table({"source": names[:20], "target": names[20:40]})
    assert "unrelated-edges" not in [
        entry.kind for entry in warnings_of(split_graph(columns(), few))
    ]
    # labels of other parts aren't read
    graph.data.y[graph.data.test_mask] = 0
    assert warnings_of(graph) == [warning]
