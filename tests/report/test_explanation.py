"""Explanations by ids and columns: for every kept model, as tables, files and sentences."""

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from herofilter.config import Config
from herofilter.data import TableGraph, read_graph
from herofilter.predict import Predictor
from herofilter.predict.slot_words import slot_words
from herofilter.report.explanation import explain_nodes, explain_saved, importance_of_columns
from herofilter.report.explanation_tables import (
    explanation_tables,
    importance_table,
    summary_row,
    write_explanations,
    write_importance,
)
from herofilter.report.explanation_words import sentences
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.fitting import with_split
from tests.user_tables import COLUMNS, NAMES, write_tables

MODELS = {
    "herofilter": ["patch_size=4", "directed=keep"],
    "gcn": [],
    "mlp": [],
    "booster": [],
    "neighbour-booster": [],
}
# without edges, so without other nodes
ALONE = ("mlp", "booster")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = tmp_path_factory.mktemp("tables")
    write_tables(tables)
    return tables


@pytest.fixture(scope="module")
def graph(folder: Path) -> TableGraph:
    return with_split(read_graph(folder / "edges.csv", folder / "nodes.csv", "topic"), 0)


def fitted(graph: TableGraph, name: str) -> Predictor:
    config = Config().replace(epochs=20, hidden_channels=8).with_settings(MODELS[name])
    config = settle(graph.data, name, config)
    trained = fit_split(PreparedGraphs(graph.data, len(graph.classes)), name, config)
    return make_predictor(trained, graph, graph.encoder)


@pytest.fixture(scope="module")
def models(graph: TableGraph) -> dict[str, Predictor]:
    return {name: fitted(graph, name) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loaded", [False, True])
def test_effects_are_those_of_a_changed_table(
    models: dict[str, Predictor], graph: TableGraph, name: str, loaded: bool, tmp_path: Path
) -> None:
    predictor = models[name]
    if loaded:
        predictor.save(tmp_path / "model")
        predictor = Predictor.load(tmp_path / "model")
    found = explain_saved(predictor, "user:42")
    row = graph.position("user:42")
    before = predictor.predict_proba(torch.tensor([row]))[0]
    assert found["prediction"] == NAMES[int(before.argmax())]
    assert found["probability"] == pytest.approx(float(before.max()), abs=1e-6)
    assert {each["column"] for each in found["columns"]} == set(COLUMNS)
    mean = graph.data.x.to_dense()[graph.data.train_mask].mean(0)

    def without(node_id: str, column: str) -> float:
        names = graph.encoder.names
        changed = copy.copy(graph.data)
        changed.x = graph.data.x.to_dense().clone()
        for number, each in enumerate(names):
            # age is missing, country=DE, tags has a
            if each == column or each.startswith((f"{column} ", f"{column}=")):
                changed.x[graph.position(node_id), number] = mean[number]
        return float(predictor.on(changed).predict_proba(torch.tensor([row]))[0, before.argmax()])

    for each in found["columns"]:
        assert each["without"] == pytest.approx(without("user:42", each["column"]), abs=1e-5)
    assert bool(found["others"]) == (name not in ALONE)
    for other in found["others"]:
        for each in other["columns"]:
            assert each["without"] == pytest.approx(without(other["id"], each["column"]), abs=1e-5)
    assert bool(found["tokens"]) == (name == "herofilter")
    json.dumps(found, allow_nan=False)


def test_values_are_those_of_the_table(models: dict[str, Predictor], folder: Path) -> None:
    with (folder / "nodes.csv").open(newline="") as file:
        table = {row["id"]: row for row in csv.DictReader(file)}
    ids = [f"user:{number}" for number in range(30)]
    for found in explain_nodes(models["mlp"], ids):
        cells = {each["column"]: each["value"] for each in found["columns"]}
        given = table[found["node"]]
        assert cells["country"] == given["country"]
        assert cells["tags"] == given["tags"].replace("|", ", ")
        for column in ("age", "score", "height"):
            if given[column]:
                assert float(cells[column]) == pytest.approx(float(given[column]), rel=1e-2)
            else:
                assert cells[column] == "missing"


def test_labels_of_others_are_those_of_training_nodes(
    models: dict[str, Predictor], graph: TableGraph
) -> None:
    ids = [f"user:{number}" for number in range(20)]
    seen = set()
    for found in explain_nodes(models["gcn"], ids):
        for other in found["others"]:
            row = graph.position(other["id"])
            known = bool(graph.data.train_mask[row])
            assert other["label"] == (NAMES[int(graph.data.y[row])] if known else None)
            seen.add(known)
    assert seen == {True, False}


def test_many_nodes_are_explained_as_each_alone(models: dict[str, Predictor]) -> None:
    ids = ["user:7", "user:3"]
    many = list(explain_nodes(models["herofilter"], ids))
    assert [found["node"] for found in many] == ids
    for found in many:
        alone = explain_saved(models["herofilter"], found["node"])
        assert found["response"] is None
        assert alone["response"] is not None
        assert found["columns"] == alone["columns"]
        assert found["tokens"] == alone["tokens"]


def shown(tables: Any) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    for table in tables:
        console.print(table)
    return " ".join(console.export_text().split())


@pytest.mark.parametrize("name", MODELS)
def test_tables_have_a_legend(models: dict[str, Predictor], name: str) -> None:
    found = explain_saved(models[name], "user:42")
    text = shown(explanation_tables(found))
    assert ("the node itself" in text) == (name == "herofilter")
    assert "with an average value: with the mean of the training nodes in that column" in text
    assert ("Other nodes that count for" in text) == (name not in ALONE)
    assert summary_row(found)[0] == "user:42"


def test_files(models: dict[str, Predictor], tmp_path: Path) -> None:
    ids = ["user:7", "user:3"]
    write_explanations(tmp_path / "all.csv", explain_nodes(models["herofilter"], ids))
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (first, _) = explain_nodes(models["herofilter"], ids)
    assert list(rows[0]) == [
        "id", "prediction", "probability", "what", "node", "column", "value", "change", "without",
    ]  # fmt: skip
    assert {row["id"] for row in rows} == set(ids)
    own = [row for row in rows if row["id"] == "user:7" and row["what"] == "own column"]
    assert [row["column"] for row in own] == [each["column"] for each in first["columns"]]
    assert float(own[0]["change"]) == pytest.approx(first["columns"][0]["change"], abs=1e-6)
    kinds = {row["what"] for row in rows}
    assert {"other node", "column of other node", "token: ego"} <= kinds
    write_explanations(tmp_path / "all.json", explain_nodes(models["herofilter"], ids))
    read = json.loads((tmp_path / "all.json").read_text())
    assert [found["node"] for found in read] == ids


@pytest.mark.parametrize("name", MODELS)
def test_importance(models: dict[str, Predictor], name: str, tmp_path: Path) -> None:
    found = importance_of_columns(models[name], repeats=2)
    assert (found["part"], found["nodes"]) == ("test", 17)
    assert {each["column"] for each in found["columns"]} == set(COLUMNS)
    losses = [each["loss"] for each in found["columns"]]
    assert losses == sorted(losses, reverse=True)
    text = shown([importance_table(found)])
    assert "How much worse the model gets when a column is shuffled (17 test nodes)" in text
    write_importance(tmp_path / "columns.csv", found)
    with (tmp_path / "columns.csv").open(newline="") as file:
        assert [row["column"] for row in csv.DictReader(file)] == [
            each["column"] for each in found["columns"]
        ]
    write_importance(tmp_path / "columns.json", found)
    assert json.loads((tmp_path / "columns.json").read_text()) == found


def explained(**changes: Any) -> dict[str, Any]:
    column = {"column": "age", "value": "43", "change": 0.5, "without": 0.5}
    other = {"id": "ann", "label": None, "change": 0.3, "without": 0.6, "columns": [column]}
    start = {
        "node": "bob",
        "prediction": "ai",
        "probability": 0.81,
        "columns": [column],
        "others": [other],
        "tried": {"columns": 1, "of": 1, "others": 4},
        "tokens": [],
        "legend": {},
        "response": None,
    }
    return {**start, **changes}


def test_sentences() -> None:
    assert sentences(explained(), "graph") == [
        "of its own columns age (43) counts most: with an average value ai would have 50 % "
        "instead of 81 %",
        "of the other nodes (4 were tried) ann counts most: were it average, ai would have 60 % "
        "instead of 81 %, chiefly for its column age (43)",
    ]
    weak = {"column": "age", "value": None, "change": 0.0, "without": 0.81}
    other = {"id": "ann", "label": None, "change": 0.0, "without": 0.8101, "columns": [weak]}
    tried = {"columns": 1, "of": 20, "others": 4}
    assert sentences(explained(columns=[weak], others=[other], tried=tried), "graph") == [
        "none of its own columns counts much by itself",
        "1 of 20 columns were tried, those in which the node is most unusual, since each takes a "
        "pass over the graph",
        "no other node counts much by itself (4 were tried)",
    ]
    assert sentences(explained(others=[]), "columns")[0] == (
        "the model reads the node's own columns only, no edges"
    )


@pytest.mark.parametrize(
    ("slot", "directed", "eigenvalue", "words"),
    [
        ("ego", True, None, "the node itself"),
        ("out", True, None, "nodes that it points to, directly or over others"),
        ("out", False, None, "nodes near it: its neighbours, and theirs"),
        ("in", True, None, "nodes that point to it, directly or over others"),
        ("coreference", True, None, "nodes that point to the same nodes as it does"),
        ("coreference", False, None, "nodes with the same neighbours as it has"),
        ("cocitation", True, None, "nodes that the same nodes point to"),
        ("labels-0", True, None, "the known classes around it"),
        ("filter-0", True, None, "nodes that a filter, learned from this graph, finds"),
        (
            "filter-0",
            False,
            0.9,
            "nodes that a filter, learned from this graph, finds by what neighbours share",
        ),
        (
            "filter-0",
            False,
            0.1,
            "nodes that a filter, learned from this graph, finds by both what neighbours share "
            "and what differs between them",
        ),
    ],
)
def test_slots_in_words(slot: str, directed: bool, eigenvalue: float | None, words: str) -> None:
    assert slot_words(slot, directed, eigenvalue) == words
