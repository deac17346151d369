import json
import math
import multiprocessing
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from herofilter import load_dataset, train_splits
from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import ConfigError, RunError
from herofilter.reproduce import accuracy, jobs as jobs_module, published as published_module
from herofilter.reproduce.accuracy import (
    COLUMNS,
    GRAPHS,
    PAPER,
    column_run,
    mean_interval,
    run_accuracy,
    seeds_of,
)
from herofilter.reproduce.jobs import Outcome, StaleFileWarning, TrainingJob, run_job
from herofilter.training.search.presets import list_presets
from tests.events import stop_after, told

QUICK = Config().replace(patch_size=4, hidden_channels=8, epochs=4)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, QUICK)


def use(monkeypatch: pytest.MonkeyPatch, config: Config) -> None:
    monkeypatch.setattr(
        accuracy, "preset_run", lambda graph, preset, model: (model or "herofilter", config)
    )


def tiny(out: Path, **options: Any) -> dict[str, Any]:
    values = {"columns": ("mlp", "default"), "splits": (0, 1), **options}
    return run_accuracy(("karate",), out=out, **values)


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """Return what mustn't depend on the machine: accuracies and settings."""
    return {
        column: {key: value for key, value in entry.items() if key != "seconds"}
        for column, entry in result["graphs"]["karate"]["columns"].items()
    }


def counted(monkeypatch: pytest.MonkeyPatch) -> list[TrainingJob]:
    seen: list[TrainingJob] = []

    def run(job: TrainingJob) -> Outcome:
        seen.append(job)
        return run_job(job)

    monkeypatch.setattr(jobs_module, "run_job", run)
    return seen


# what the benchmark is


def test_the_graphs_are_known_and_have_ten_splits() -> None:
    assert len(GRAPHS) == 9
    assert [REGISTRY[graph].num_splits for graph in GRAPHS] == [10] * 9
    assert set(PAPER) == set(GRAPHS)
    assert [graph for graph in GRAPHS if len(seeds_of(graph)) == 3] == [
        "texas",
        "wisconsin",
        "cornell",
    ]


def test_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert column_run("texas", "mlp") == ("mlp", Config())
    assert column_run("texas", "default") == ("herofilter", Config())
    for column in COLUMNS:
        known = COLUMNS[column].preset in ("default", *list_presets("texas"))
        assert (column_run("texas", column) is not None) is known


def test_mean_interval() -> None:
    # t for nine degrees of freedom is 2.262157
    values = [0.1 * value for value in range(10)]
    low, high = mean_interval(values)
    assert (low + high) / 2 == pytest.approx(0.45)
    assert high - low == pytest.approx(2 * 2.262157 * 0.302765 / math.sqrt(10), abs=1e-5)
    assert mean_interval([0.5]) is None
    assert mean_interval([]) is None


# a run


def test_the_result(tmp_path: Path) -> None:
    result = tiny(tmp_path)
    assert result["command"] == (
        "herofilter bench herofilter --graphs karate --columns mlp,default --splits 0,1"
    )
    assert (result["splits"], result["workers"]) == ([0, 1], [1])
    assert result["columns"] == {"mlp": "MLP", "default": "default"}
    assert [entry["threads"] for entry in result["environments"]] == [1]
    row = result["graphs"]["karate"]
    assert (row["paper"], row["seeds"]) == (None, [0])
    for column, entry in row["columns"].items():
        file = json.loads((tmp_path / f"karate-{column}-seed-0.json").read_text())
        kept = [file["splits"][split]["test_accuracy"] for split in "01"]
        assert entry["test_accuracy"]["values"] == kept
        assert entry["interval"] == mean_interval(kept)
        assert entry["count"] == 2
        assert entry["seconds"] == pytest.approx(
            sum(file["splits"][split]["seconds"] for split in "01") / 2
        )
        assert "seed" not in entry["config"]["train"]
        assert Config.from_dict(entry["config"]) == QUICK == Config.from_dict(file["config"])
        assert entry["changed"] == {"patch_size": 4, "hidden_channels": 8, "epochs": 4}
    assert json.loads(json.dumps(result)) == result


def test_the_numbers_are_those_of_train(tmp_path: Path) -> None:
    found = tiny(tmp_path)["graphs"]["karate"]["columns"]["default"]
    alone = train_splits(load_dataset("karate", split=None), config=QUICK, splits=(0, 1))
    assert found["test_accuracy"] == alone["test_accuracy"]
    assert found["val_accuracy"] == alone["val_accuracy"]


def test_seeds_are_averaged_within_each_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "THREE_SEEDS", ("karate",))
    monkeypatch.setattr(
        jobs_module,
        "run_job",
        lambda job: Outcome(
            job,
            {
                "test_accuracy": 0.5 + job.split / 10 + job.config.train.seed / 100,
                "val_accuracy": 0.5,
                "seconds": 1.0,
            },
        ),
    )
    result = tiny(tmp_path, columns=("mlp",))
    entry = result["graphs"]["karate"]["columns"]["mlp"]
    assert result["graphs"]["karate"]["seeds"] == [0, 1, 2]
    assert entry["count"] == 6
    assert entry["test_accuracy"]["values"] == pytest.approx([0.5, 0.6, 0.51, 0.61, 0.52, 0.62])
    assert entry["interval"] == pytest.approx(mean_interval([0.51, 0.61]))
    assert entry["seconds"] == 1.0


def test_the_paper_is_beside_its_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"test_accuracy": 0.5, "val_accuracy": 0.5, "seconds": 1.0}
    monkeypatch.setattr(jobs_module, "run_job", lambda job: Outcome(job, metrics))
    monkeypatch.setattr(jobs_module, "on_disk", lambda graph: True)
    result = run_accuracy(columns=("mlp",), out=tmp_path)
    assert list(result["graphs"]) == list(GRAPHS)
    assert result["graphs"]["squirrel"]["paper"] == {"mean": 0.477, "std": 0.022}
    assert result["graphs"]["texas"]["columns"]["mlp"]["count"] == 30
    assert result["graphs"]["pubmed"]["columns"]["mlp"]["count"] == 10


def test_a_missing_preset_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "list_presets", lambda graph: ["tuned-fast"])
    columns = tiny(tmp_path, columns=("tuned-undirected", "tuned-fast"))["graphs"]["karate"][
        "columns"
    ]
    assert columns["tuned-undirected"] is None
    assert columns["tuned-fast"]["preset"] == "tuned-fast"
    alone = tiny(tmp_path / "other", columns=("tuned-undirected",))
    assert alone["graphs"]["karate"]["columns"] == {"tuned-undirected": None}
    assert (alone["workers"], alone["environments"]) == ([], [])


def test_one_thread_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    monkeypatch.setattr(
        jobs_module,
        "train_split",
        lambda *_, **__: threads.append(torch.get_num_threads()) or 1 / 0,
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ZeroDivisionError):
            tiny(tmp_path)
        assert (threads, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


# continuing


def test_finished_jobs_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    first = tiny(tmp_path)
    assert len(seen) == 4
    heard: list[Event] = []
    assert tiny(tmp_path, callback=heard.append) == first
    assert (len(seen), told(heard)) == (4, [(4, 4, "starting")])
    tiny(tmp_path, splits=(1, 2), callback=heard.append)
    assert [(job.column, job.split) for job in seen[4:]] == [("default", 2), ("mlp", 2)]
    assert told(heard[1:]) == [
        (2, 4, "starting"),
        (3, 4, "default on karate, seed 0, split 2"),
        (4, 4, "mlp on karate, seed 0, split 2"),
    ]
    # splits that weren't asked for are kept, and don't count
    assert tiny(tmp_path)["graphs"] == first["graphs"]


def test_another_configuration_is_run_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path, columns=("mlp",))
    use(monkeypatch, QUICK.replace(lr=0.5))
    seen = counted(monkeypatch)
    path = tmp_path / "karate-mlp-seed-0.json"
    with pytest.warns(StaleFileWarning) as caught:
        result = tiny(tmp_path, columns=("mlp",), splits=(1,))
    assert [str(warning.message) for warning in caught] == [
        f"{path} was made with another configuration (lr was 0.01 and is 0.5); "
        "its jobs are run anew"
    ]
    assert len(seen) == 1
    # no split of the earlier configuration is left
    assert list(json.loads(path.read_text())["splits"]) == ["1"]
    assert result["graphs"]["karate"]["columns"]["mlp"]["config"]["train"]["lr"] == 0.5


def test_a_file_of_an_earlier_version_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tiny(tmp_path, columns=("mlp",))
    path = tmp_path / "karate-mlp-seed-0.json"
    content = json.loads(path.read_text())
    content["config"]["patcher"]["resolved"] = False
    path.write_text(json.dumps(content))
    seen = counted(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tiny(tmp_path, columns=("mlp",)) == first
    assert seen == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "gcn"}, "was made with another configuration (model was gcn and is mlp)"),
        ({"variant": "old"}, "was made with another configuration (variant was old and is"),
        ({"config": {"train": {"speed": 3}}}, "was made with another configuration (there is no"),
        ({"splits": None}, "can't be read"),
        ({"config": None}, "can't be read"),
        (None, "can't be read"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, change: dict[str, Any] | None, why: str) -> None:
    first = tiny(tmp_path, columns=("mlp",))
    path = tmp_path / "karate-mlp-seed-0.json"
    content = json.loads(path.read_text())
    path.write_text("{" if change is None else json.dumps({**content, **change}))
    with pytest.warns(StaleFileWarning) as caught:
        again = tiny(tmp_path, columns=("mlp",))
    assert str(caught[0].message).startswith(f"{path} {why}")
    assert plain(again) == plain(first)


def test_settings_that_came_later_have_their_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny(tmp_path, columns=("mlp",))
    path = tmp_path / "karate-mlp-seed-0.json"
    content = json.loads(path.read_text())
    del content["config"]["train"]["label_smoothing"]
    path.write_text(json.dumps(content))
    seen = counted(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny(tmp_path, columns=("mlp",))
    assert seen == []


def test_an_interrupt_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        tiny(tmp_path / "a", callback=stop_after(3))
    seen = counted(monkeypatch)
    resumed = tiny(tmp_path / "a")
    assert len(seen) == 1
    assert plain(resumed) == plain(tiny(tmp_path / "b"))


def test_an_interrupted_training_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_split = jobs_module.train_split

    def press(*args: Any, score_test: bool) -> Any:
        return train_split(*args, callback=lambda event: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr(jobs_module, "train_split", press)
    # a job in the background is started with the signal ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tiny(tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


# processes


@pytest.mark.usefixtures("_quick_workers")
def test_processes_do_not_change_the_result_and_end_with_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # one training far too long to wait for: only ending its process ends the test
    long = QUICK.replace(epochs=1_000_000, patience=1_000_000)
    runs = {"gcn": ("gcn", long), "mlp": ("mlp", QUICK), "herofilter": ("herofilter", QUICK)}
    monkeypatch.setattr(accuracy, "preset_run", lambda graph, preset, model: runs[model])
    with pytest.raises(KeyboardInterrupt):
        tiny(
            tmp_path / "a",
            columns=("mlp", "default", "gcn"),
            splits=(0,),
            workers=2,
            callback=stop_after(2),
        )
    names = {"karate-mlp-seed-0.json", "karate-default-seed-0.json"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == names
    deadline = time.monotonic() + 20
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert multiprocessing.active_children() == []
    shared, alone = (tiny(tmp_path / out, splits=(0,)) for out in "ab")
    assert plain(shared) == plain(alone)
    assert (shared["workers"], alone["workers"]) == ([2], [1])


# mistakes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"graphs": ("texsa",)}, "(got 'texsa') (did you mean 'texas'?)"),
        (
            {"columns": ("tund",)},
            "tuned-undirected, tuned-fast, tuned-directed (got 'tund') "
            "(did you mean 'tuned-fast'?)",
        ),
        ({"columns": ()}, "columns must name at least one and none twice (got none)"),
        ({"graphs": ("csbm", "csbm")}, "graphs must name at least one and none twice (got csbm"),
        ({"workers": 0}, "workers must be at least 1 (got 0)"),
        ({"splits": (0, 10)}, "splits must be between 0 and 9 (got 0,10)"),
        ({"splits": ()}, "splits must be between 0 and 9 (got none)"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_accuracy(**{"graphs": ("karate",), "out": tmp_path, **options})
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_split = jobs_module.train_split

    def fail(prepared: Any, model: str, config: Config, split: int, score_test: bool) -> Any:
        if split == 0:
            raise RunError("the training loss must be a number")
        return train_split(prepared, model, config, split)

    monkeypatch.setattr(jobs_module, "train_split", fail)
    with pytest.raises(RunError) as caught:
        tiny(tmp_path, columns=("mlp",), splits=(0, 1))
    monkeypatch.setattr(jobs_module, "train_split", train_split)
    assert str(caught.value) == (
        "every training must finish, but 1 of 2 didn't (mlp on karate, seed 0, split 0: "
        "the training loss must be a number); finished ones are kept, so run it again"
    )
    seen = counted(monkeypatch)
    tiny(tmp_path, columns=("mlp",), splits=(0, 1))
    assert [job.split for job in seen] == [0]


# where it is written


def test_where_results_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out, whole = Path("runs/a"), "herofilter bench herofilter"
    inside = (out / "accuracy.json", out / "results.md")
    published = (Path("results/accuracy.json"), Path("docs/results.md"))
    assert accuracy.PUBLISHED.paths(whole, out) == inside
    os.makedirs("herofilter/reproduce")
    published_module._CHECKOUT.touch()
    assert accuracy.PUBLISHED.paths(whole, out) == published
    # a part of the benchmark never replaces the published results
    assert accuracy.PUBLISHED.paths(f"{whole} --graphs texas", out) == inside
    assert accuracy.PUBLISHED.paths(whole, out, Path("b/my.json")) == (
        Path("b/my.json"),
        Path("b/my.md"),
    )
    assert accuracy.PUBLISHED.paths(whole, out, page=Path("c.md")) == (published[0], Path("c.md"))


def test_what_is_finished_can_be_summed_up(tmp_path: Path) -> None:
    assert tiny(tmp_path, columns=("mlp",), finished=True)["graphs"]["karate"]["columns"] == {
        "mlp": None
    }
    tiny(tmp_path, columns=("mlp",), splits=(0,))
    found = tiny(tmp_path, columns=("mlp", "gcn"), splits=(0, 1), finished=True)
    columns = found["graphs"]["karate"]["columns"]
    assert columns["gcn"] is None
    assert columns["mlp"]["done"] == [0]
    assert columns["mlp"]["count"] == 1
