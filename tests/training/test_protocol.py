import json
import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import select_split
from herofilter.errors import ConfigError, GraphError
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.training import default_workers, prepare, protocol, train_splits
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.protocol import WORTH_A_PROCESS
from herofilter.training.recipe import train_split
from herofilter.training.split_metrics import ranking_spreads, spread
from tests.events import epochs, steps, stop_in, told
from tests.training.graphs import SMALL, graph


def test_spread() -> None:
    assert spread([0.5, 0.6, 0.7]) == {
        "mean": pytest.approx(0.6),
        # with n - 1 below the line
        "std": pytest.approx(0.1),
        "values": [0.5, 0.6, 0.7],
    }
    assert spread([0.25]) == {"mean": 0.25, "std": 0.0, "values": [0.25]}
    nothing = spread([])
    assert math.isnan(nothing["mean"])
    assert (nothing["std"], nothing["values"]) == (0.0, [])


def test_the_summary_says_what_was_run() -> None:
    data = graph()
    summary = train_splits(data, "mlp", SMALL, [0, 2], graph="small")
    assert summary["graph"] == "small"
    assert summary["model"] == "mlp"
    assert summary["variant"] == data.variant
    assert Config.from_dict(summary["config"]) == resolve_defaults(data, SMALL)
    assert summary["splits"] == [0, 2]
    assert summary["seconds"] > 0
    assert not summary["interrupted"]
    for key in ("test_accuracy", "val_accuracy", "test_auc", "test_average_precision", "val_auc"):
        assert summary[key] == spread(summary[key]["values"])
        assert len(summary[key]["values"]) == 2


def test_a_measure_that_a_split_lacks_has_no_mean() -> None:
    splits = [{"test_auc": 0.5, "val_auc": 0.5}, {"test_auc": 0.7, "val_auc": None}]
    assert ranking_spreads(splits) == {
        "test_auc": spread([0.5, 0.7]),
        "test_average_precision": None,
        "val_auc": None,
    }
    assert set(ranking_spreads([]).values()) == {None}


def test_each_split_is_trained_on_its_own() -> None:
    data = graph()
    both = train_splits(data, "mlp", SMALL, [0, 2])
    for place, split in enumerate((0, 2)):
        alone = train_splits(data, "mlp", SMALL, [split])
        assert (
            alone["test_accuracy"]["values"] == both["test_accuracy"]["values"][place : place + 1]
        )
        _, result = train_split(prepare(data, SMALL), "mlp", SMALL, split)
        assert result.test.accuracy == both["test_accuracy"]["values"][place]


def test_one_dimensional_masks_are_one_split() -> None:
    data = graph()
    alone = train_splits(select_split(data, 1), "mlp", SMALL)
    assert alone["test_accuracy"] == train_splits(data, "mlp", SMALL, [1])["test_accuracy"]


def test_the_callback_hears_of_every_epoch() -> None:
    heard: list[Event] = []
    summary = train_splits(graph(), "mlp", SMALL, [2, 0], callback=heard.append)
    assert epochs(heard) == [(split, epoch) for split in (2, 0) for epoch in range(6)]
    assert {event.total for event in heard if event.stage == "epoch"} == {6}
    assert all(event.number("train_loss") > 0 for event in heard if event.stage == "epoch")
    finished = [event for event in heard if event.stage == "split"]
    assert [(event.done, event.total, event.name) for event in finished] == [
        (1, 2, "split 2"),
        (2, 2, "split 0"),
    ]
    reached = [event.number("test_accuracy") for event in finished]
    assert reached == summary["test_accuracy"]["values"]
    assert pickle.loads(pickle.dumps(heard)) == heard


def test_several_workers_report_splits_alone(tmp_path: Path) -> None:
    heard: list[Event] = []
    train_splits(graph(), "mlp", SMALL, [1], out=tmp_path)
    train_splits(graph(), "mlp", SMALL, [0, 1, 2], out=tmp_path, callback=heard.append, workers=2)
    assert {event.stage for event in heard} == {"split"}
    assert steps(heard) == [(1, 3), (2, 3), (3, 3)]
    assert heard[0].name == "split 1"


def test_repeats_are_the_same_and_the_seed_matters() -> None:
    data = graph()
    states = []
    for seed in (0, 0, 1):
        torch.rand(2)
        config = SMALL.replace(seed=seed)
        network, _ = train_split(prepare(data, config), "herofilter", config, 0)
        states.append(network.head.layers[0].weight.detach())
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_ctrl_c_ends_the_run_with_what_there_is() -> None:
    stop = stop_in(1, 0, KeyboardInterrupt())
    summary = train_splits(graph(), "mlp", SMALL, [0, 1, 2], callback=stop)
    assert summary["interrupted"]
    assert summary["splits"] == [0, 1]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key != "seconds"}
    return value


@pytest.mark.usefixtures("_quick_workers")
def test_two_workers_give_the_same_bits_as_one(tmp_path: Path) -> None:
    heard: list[Event] = []
    runs = [
        train_splits(
            graph(), "herofilter", SMALL, [0, 1, 2], "small", tmp_path / str(workers), None, workers
        )
        for workers in (1, 2)
    ]
    assert without_times(runs[0]) == without_times(runs[1])
    one, two = (
        without_times(json.loads((tmp_path / name / "metrics.json").read_text())) for name in "12"
    )
    assert one == two
    for split in range(3):
        first, second = (SavedModel.load(tmp_path / name / f"split-{split}") for name in "12")
        assert first.history == second.history
        assert first.temperature == second.temperature
        assert first.state.keys() == second.state.keys()
        assert all(torch.equal(first.state[key], second.state[key]) for key in first.state)
    # nothing is left to do, and each split of the earlier go is told
    train_splits(
        graph(), "herofilter", SMALL, [0, 2], "small", tmp_path / "2", heard.append, workers=2
    )
    assert told(heard) == [(1, 2, "split 0"), (2, 2, "split 2")]


def pressed_after(count: int) -> Callable[..., Iterator[Any]]:
    """Return jobs in processes during which the user presses Ctrl-C."""

    def run(
        function: Callable[[Any], Any], jobs: Sequence[Any], workers: int
    ) -> Iterator[tuple[Any, ...]]:
        assert workers == 2
        # the last one is the first to be finished
        for job in list(reversed(jobs))[:count]:
            yield function(job)
        raise KeyboardInterrupt

    return run


def test_ctrl_c_with_workers_keeps_finished_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train_splits(graph(), "mlp", SMALL, [0, 1, 2])
    heard: list[Event] = []

    def run(workers: int, splits: Sequence[int] = (0, 1, 2)) -> dict[str, Any]:
        heard.clear()
        return train_splits(graph(), "mlp", SMALL, splits, "graph", tmp_path, heard.append, workers)

    def finished() -> list[float | str | None]:
        return [event.values["split"] for event in heard if event.stage == "split"]

    with monkeypatch.context() as patch:
        patch.setattr(protocol, "run_jobs", pressed_after(1))
        summary = run(2)
        assert (summary["splits"], summary["interrupted"], finished()) == ([2], True, [2])
        kept = json.loads((tmp_path / "metrics.json").read_text())
        assert list(kept) == ["splits"]
        assert list(kept["splits"]) == ["2"]
        # what is kept is of no use to whom it wasn't asked for
        patch.setattr(protocol, "run_jobs", pressed_after(0))
        with pytest.raises(KeyboardInterrupt):
            run(2, (0, 1))
    assert without_times(run(1)) == without_times(whole)
    assert finished() == [2, 0, 1]


def test_ctrl_c_before_any_split_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "run_jobs", pressed_after(0))
    with pytest.raises(KeyboardInterrupt):
        train_splits(graph(), "mlp", SMALL, [0, 1], out=tmp_path / "out", workers=2)
    assert not (tmp_path / "out").exists()


def test_processes_are_for_graphs_that_are_worth_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol.psutil, "cpu_count", lambda: 4)
    small, large = Data(num_nodes=WORTH_A_PROCESS - 1), Data(num_nodes=WORTH_A_PROCESS)
    assert default_workers(small, range(10)) == 1
    assert [default_workers(large, range(count)) for count in (1, 3, 10)] == [1, 3, 4]
    monkeypatch.setattr(protocol.psutil, "cpu_count", lambda: None)
    assert default_workers(large, range(10)) == 1


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigError, match=r"model must be one of .*did you mean 'gcn'"):
        train_splits(graph(), "gnc", SMALL)
    with pytest.raises(ConfigError, match=r"^workers must be at least 1 \(got 0\)$"):
        train_splits(graph(), "mlp", SMALL, workers=0)
    with pytest.raises(ConfigError, match="split must be between 0 and 2 \\(got 3\\)"):
        train_splits(graph(), "mlp", SMALL, [3])
    bare = graph()
    del bare.val_mask
    with pytest.raises(GraphError, match="got no val_mask"):
        train_splits(bare, "mlp", SMALL)
