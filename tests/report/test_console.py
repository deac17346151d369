import io
from collections.abc import Callable

import pytest
import torch
from rich.console import Console, RenderableType
from torch_geometric.data import Data

from herofilter.data import list_datasets
from herofilter.measures import data_card
from herofilter.memory import format_bytes
from herofilter.nn import list_models
from herofilter.nn.registry import ModelEntry
from herofilter.patchers import patcher_memory
from herofilter.report.console import (
    card_table,
    dataset_table,
    demo_table,
    model_table,
    percent,
    train_table,
)
from tests.awkward import directed, no_features, plain
from tests.report.results import demo_result


def text_of(table: RenderableType, width: int = 200) -> str:
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(table)
    return console.export_text()


def cells(text: str) -> list[list[str]]:
    rows = [line.strip() for line in text.splitlines() if "│" in line]
    return [[cell.strip() for cell in row[1:-1].split("│")] for row in rows]


def test_percent() -> None:
    assert percent({"mean": 0.8765, "std": 0.0123}) == "87.6 ± 1.2"


def test_demo_table() -> None:
    rows = cells(text_of(demo_table(demo_result())))
    assert rows == [
        ["0.1", "61.1 ± 1.2", "62.2 ± 1.2", "74.3 ± 1.2", "0.85", "0.77"],
        ["0.9", "61.1 ± 1.2", "62.2 ± 1.2", "82.3 ± 1.2", "0.05", "0.77"],
    ]


def test_train_table() -> None:
    summary = {
        "model": "herofilter",
        "title": "patch-mlp",
        "graph": "texas",
        "splits": [3, 5],
        "val_accuracy": {"mean": 0.6, "std": 0.1, "values": [0.501, 0.702]},
        "test_accuracy": {"mean": 0.5, "std": 0.2, "values": [0.403, 0.604]},
    }
    text = text_of(train_table(summary))
    assert "patch-mlp on texas" in text
    assert cells(text) == [
        ["3", "50.1", "40.3"],
        ["5", "70.2", "60.4"],
        ["mean ± std", "60.0 ± 10.0", "50.0 ± 20.0"],
    ]
    members = [{"name": "summaries", "title": "summary-mlp"}, {"name": "smooth", "title": "gcn"}]
    summary |= {"picked": {"3": "smooth", "5": "summaries"}, "members": members}
    shown = text_of(train_table(summary))
    assert "smooth (gcn)" in shown
    assert "summaries (summary-mlp)" in shown


def test_train_table_shows_rankings_where_they_are_known() -> None:
    summary = {
        "model": "auto",
        "title": "auto",
        "graph": "minesweeper",
        "splits": [0],
        "picked": {"0": "balanced"},
        "members": [{"name": "balanced", "title": "herofilter"}],
        "val_accuracy": {"mean": 0.6, "std": 0.0, "values": [0.6]},
        "test_accuracy": {"mean": 0.5, "std": 0.0, "values": [0.5]},
        "test_auc": {"mean": 0.91, "std": 0.0, "values": [0.91]},
        "test_average_precision": None,
    }
    text = text_of(train_table(summary))
    assert "test AUC" in text
    assert "test AP" not in text
    assert cells(text)[0] == ["0", "60.0", "50.0", "91.0", "balanced (herofilter)"]


def test_dataset_table() -> None:
    infos = list_datasets()
    rows = cells(text_of(dataset_table([(info, info.name == "karate") for info in infos])))
    assert [row[0] for row in rows] == [info.name for info in infos]
    on_disk = {row[0]: row[3] for row in rows}
    assert (on_disk["karate"], on_disk["cora"]) == ("yes", "no")
    assert rows[0][1] == str(infos[0].num_splits)


def entry(name: str, **fields: object) -> ModelEntry:
    kept: dict[str, object] = {"paper": "A (ICLR 2020)", "needs": "the edges", "scales": True}
    kept |= {"directed": False, "builder": None, **fields}
    return ModelEntry(name, **kept)  # type: ignore[arg-type]


def test_model_table() -> None:
    models = [
        entry("one", needs="n·n floats", scales=False, options={"hops": (1, 2), "heads": (4,)}),
        entry("two", batches=True),
    ]
    text = text_of(model_table(models))
    rows = [[cell.strip() for cell in line.split("│")] for line in text.splitlines() if "│" in line]
    assert rows == [
        ["one", "A (ICLR 2020)", "n·n floats", "no", "no", "hops"],
        ["", "", "", "", "", "heads"],
        ["two", "A (ICLR 2020)", "the edges", "yes", "yes", ""],
    ]
    assert "options are set with --set, such as --set hops=5" in text


def test_names_are_not_cut_on_a_narrow_terminal() -> None:
    infos = list_datasets()
    for table, names in (
        (model_table(list_models()), [entry.name for entry in list_models()]),
        (dataset_table([(info, True) for info in infos]), [info.name for info in infos]),
    ):
        text = text_of(table, width=80)
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text
        lines = [line.replace("│", " ").split() for line in text.splitlines()]
        assert set(names) <= {line[0] for line in lines if line}
    options = {option for entry in list_models() for option in entry.options}
    assert options <= set(text_of(model_table(list_models()), width=80).split())


@pytest.mark.parametrize("make", [plain, directed, no_features])
def test_card_table(make: Callable[[], Data]) -> None:
    data = make()
    card = data_card(data, "mine")
    text = text_of(card_table(card))
    assert "Data card: mine" in text
    rows = {row[0]: row[1] for row in cells(text)}
    assert rows["num nodes"] == "10"
    assert rows["num edges"] == str(data.num_edges)
    assert rows["directed"] == ("yes" if make is directed else "no")
    assert rows["num features"] == ("none" if data.x is None else "4")
    assert rows["node heterophily"] == f"{card.node_heterophily:.4f}"
    assert rows["class counts"] == ", ".join(map(str, torch.bincount(data.y).tolist()))


def test_card_table_shows_the_names_of_classes() -> None:
    data = plain()
    counts = torch.bincount(data.y).tolist()
    names = [f"[b]{index}" for index in range(len(counts))]
    rows = {row[0]: row[1] for row in cells(text_of(card_table(data_card(data, classes=names))))}
    assert rows["class counts"] == ", ".join(
        f"{name}: {count}" for name, count in zip(names, counts, strict=True)
    )
    assert "classes" not in rows


def test_card_table_shows_memory_for_people() -> None:
    card = data_card(plain(), "mine", patcher_memory(plain()))
    assert len(card.memory) == 3
    text = text_of(card_table(card))
    for need in card.memory:
        assert f"needed: {format_bytes(need.needed)}" in text
        assert f"patcher: {need.patcher}" in text
    assert "yes, patcher" not in text
