import io
from collections.abc import Callable

import pytest
import torch
from rich.console import Console, RenderableType
from rich.progress import Progress
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import list_datasets
from herofilter.measures import data_card
from herofilter.memory import format_bytes
from herofilter.nn import list_models
from herofilter.nn.registry import ModelEntry
from herofilter.patchers import patcher_memory
from herofilter.report.console import (
    TrainProgress,
    card_table,
    dataset_table,
    demo_table,
    model_table,
    percent,
    progress_bar,
    train_progress,
    train_table,
)
from herofilter.training import Epoch, Score
from herofilter.training.search.portfolio import Member
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
        "model": "mlp",
        "graph": "texas",
        "splits": [3, 5],
        "val_accuracy": {"mean": 0.6, "std": 0.1, "values": [0.501, 0.702]},
        "test_accuracy": {"mean": 0.5, "std": 0.2, "values": [0.403, 0.604]},
    }
    text = text_of(train_table(summary))
    assert "mlp on texas" in text
    assert cells(text) == [
        ["3", "50.1", "40.3"],
        ["5", "70.2", "60.4"],
        ["mean ± std", "60.0 ± 10.0", "50.0 ± 20.0"],
    ]


def test_dataset_table() -> None:
    infos = list_datasets()
    rows = cells(text_of(dataset_table([(info, info.name == "karate") for info in infos])))
    assert [row[0] for row in rows] == [info.name for info in infos]
    on_disk = {row[0]: row[3] for row in rows}
    assert (on_disk["karate"], on_disk["cora"]) == ("yes", "no")
    assert rows[0][1] == str(infos[0].num_splits)


def entry(name: str, **fields: object) -> ModelEntry:
    kept: dict[str, object] = {"paper": "A (ICLR 2020)", "needs": "the edges", "scales": True}
    kept |= {"directed": False, "build": None, **fields}
    return ModelEntry(name, **kept)  # type: ignore[arg-type]


def test_model_table() -> None:
    models = [
        entry("one", needs="n·n numbers", scales=False, options={"hops": (1, 2), "heads": (4,)}),
        entry("two", batches=True),
    ]
    text = text_of(model_table(models))
    rows = [[cell.strip() for cell in line.split("│")] for line in text.splitlines() if "│" in line]
    assert rows == [
        ["one", "A (ICLR 2020)", "n·n numbers", "no", "no", "hops"],
        ["", "", "", "", "", "heads"],
        ["two", "A (ICLR 2020)", "the edges", "yes", "yes", ""],
    ]
    assert "options are set with --set, such as --set hops=5" in text


def test_names_stay_whole_on_a_narrow_terminal() -> None:
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


def test_card_table_shows_memory_for_people() -> None:
    card = data_card(plain(), "mine", patcher_memory(plain()))
    assert len(card.memory) == 2
    text = text_of(card_table(card))
    for need in card.memory:
        assert f"needed: {format_bytes(need.needed)}" in text
        assert f"patcher: {need.patcher}" in text
    assert "yes, patcher" not in text


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_only_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    else:
        monkeypatch.delenv("FORCE_COLOR", raising=False)
    with progress_bar() as progress:
        task = progress.add_task("baking", total=2)
        progress.update(task, completed=2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("baking" in captured.err) is terminal
    assert terminal or captured.err == ""


def shown(show: TrainProgress) -> tuple[str, float, float | None]:
    (task,) = show.progress.tasks
    return task.description, task.completed, task.total


def test_train_progress_by_epochs() -> None:
    show = TrainProgress(Progress(disable=True), "texas", [3, 5], epochs=10)
    assert shown(show) == ("texas: preparing", 0, 20)
    show.epoch(3, Epoch(0, 1.0, 1.0, 0.5))
    assert shown(show) == ("split 3: validation 50.0 %", 1, 20)
    # it stopped early, and the bar goes on from the next split's place
    show.split(3)
    assert shown(show) == ("1 of 2 splits", 10, 20)
    show.epoch(5, Epoch(4, 1.0, 1.0, 0.6251))
    assert shown(show) == ("split 5: validation 62.5 %", 15, 20)
    show.split(5)
    assert shown(show) == ("2 of 2 splits", 20, 20)


def test_train_progress_by_splits_in_any_order() -> None:
    show = TrainProgress(Progress(disable=True), "texas", [0, 1, 2], epochs=10)
    for split, done in ((2, 1), (0, 2), (0, 2), (1, 3)):
        show.split(split)
        assert shown(show) == (f"{done} of 3 splits", 10 * done, 30)


def test_train_progress_of_a_portfolio() -> None:
    member = Member("balanced", "herofilter", Config(), "a test")
    show = TrainProgress(Progress(disable=True), "texas", [0], epochs=10)
    show.epoch(0, Epoch(9, 1.0, 1.0, 0.5))
    assert shown(show) == ("split 0: validation 50.0 %", 10, 10)
    for score in (Score(0.5, 1.0), None):
        show.member(0, member, score)
        show.epoch(0, Epoch(1, 1.0, 1.0, 0.25))
        assert shown(show) == ("split 0, after balanced: validation 25.0 %", 2, 10)


def test_train_progress_is_silent_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with train_progress("texas", [0, 1], 10) as show:
        show.split(0)
        assert shown(show) == ("1 of 2 splits", 10, 20)
    assert capsys.readouterr() == ("", "")
