"""Real processes that are killed, and runs that are continued after it."""

import json
import os
import random
import signal
import time
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import yaml

from herofilter.config import Config
from herofilter.data import csbm
from herofilter.errors import RunError
from herofilter.files import load_tensors, save_tensors
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.scratch import scratch_folder
from herofilter.training import train_splits
from herofilter.training.artifacts.checkpoint import CheckpointWarning
from herofilter.training.artifacts.model_folder import SavedModel
from tests.events import epochs, stop_in
from tests.training.graphs import SMALL, graph

TINY = SMALL.replace(patcher="fast", summary=False, hidden_channels=4, epochs=12, batch_size=12)
FILES = {
    "config.yaml",
    "environment.json",
    "graph",
    "metrics.json",
    *(f"split-{split}" for split in range(3)),
}
QUICK = SMALL.replace(batch_size=16)


def go(out: Path, every: float = 0.0) -> None:
    """Train two splits of a graph whose nodes have learned vectors."""
    data = csbm(60, 3, average_degree=4, num_features=0, seed=2, num_splits=2)
    train_splits(data, "herofilter", TINY, (0, 1), "tiny", out, checkpoint_every=every)


def content(out: Path) -> tuple[Any, ...]:
    """Return all that a run has found, without times."""
    metrics = json.loads((out / "metrics.json").read_text())
    for entry in (metrics, *metrics["splits"].values()):
        entry.pop("seconds")
    # of two workers either may be the first to finish
    models = [SavedModel.load(out / f"split-{split}") for split in sorted(metrics["splits"])]
    return (
        metrics,
        [model.history for model in models],
        [model.temperature for model in models],
        [{key: value.numpy().tobytes() for key, value in m.state.items()} for m in models],
    )


def written(out: Path) -> set[tuple[str, int]]:
    """Return which checkpoints there are, and when each was written."""
    found = set()
    for path in out.glob("checkpoint-*"):
        # it may be replaced or taken away meanwhile
        with suppress(FileNotFoundError):
            found.add((path.name, path.stat().st_mtime_ns))
    return found


@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again(
    tmp_path: Path, forkserver: ForkServerContext
) -> None:
    draw, out, kills = random.Random(0), tmp_path / "killed", 0
    while True:
        before = written(out)
        process = forkserver.Process(target=go, args=(out,))
        process.start()
        if kills == 6:
            process.join()
        # it gets a little further each time
        while process.is_alive() and written(out) <= before:
            time.sleep(0.002)
        process.join(draw.uniform(0.0, 0.1))
        if process.exitcode is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += 1
    assert process.exitcode == 0
    assert kills >= 2
    go(tmp_path / "whole", every=1000.0)
    assert content(out) == content(tmp_path / "whole")
    assert {path.name for path in out.iterdir()} == FILES - {"split-2"}


# in this process


def run(out: Path, config: Config = QUICK, **options: Any) -> dict[str, Any]:
    options = {"checkpoint_every": 0.0, **options}
    return train_splits(graph(), "herofilter", config, (0, 1, 2), "small", out, **options)


def crashed(out: Path, split: int) -> Path:
    with pytest.raises(ZeroDivisionError):
        run(out, callback=stop_in(split, 3, ZeroDivisionError()))
    return out / f"checkpoint-{split}.safetensors"


def test_a_split_goes_on_where_it_was(tmp_path: Path) -> None:
    out, heard = tmp_path / "run", []
    run(tmp_path / "whole")
    assert crashed(out, 1).exists()
    assert not (out / "checkpoint-0.safetensors").exists()
    run(out, callback=heard.append)
    assert epochs(heard) == [(1, 3), (1, 4), (1, 5), *((2, epoch) for epoch in range(6))]
    assert content(out) == content(tmp_path / "whole")
    assert {path.name for path in out.iterdir()} == FILES


def test_seconds_of_all_goes_are_counted(tmp_path: Path) -> None:
    path = crashed(tmp_path, 0)
    tensors, metadata = load_tensors(path)
    numbers = {**json.loads(metadata["numbers"]), "seconds": 1000.0}
    save_tensors(path, tensors, {**metadata, "numbers": json.dumps(numbers)})
    assert 1000 < run(tmp_path)["seconds"] < 1100
    splits = json.loads((tmp_path / "metrics.json").read_text())["splits"]
    assert splits["0"]["seconds"] > 1000 > splits["1"]["seconds"]


@pytest.mark.usefixtures("_quick_workers")
def test_workers_go_on_too(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    out = tmp_path / "run"
    crashed(out, 1)
    run(out, workers=2)
    assert content(out) == content(tmp_path / "whole")
    assert {path.name for path in out.iterdir()} == FILES


def test_the_first_checkpoint_says_whose_folder_it_is(tmp_path: Path) -> None:
    out = tmp_path / "run"
    path = crashed(out, 0)
    assert {entry.name for entry in out.iterdir()} == {
        "config.yaml",
        "environment.json",
        path.name,
    }
    known = yaml.safe_load((out / "config.yaml").read_text())
    assert Config.from_dict(known["config"]) == resolve_defaults(graph(), QUICK)
    with pytest.raises(RunError) as caught:
        run(out, QUICK.replace(seed=1))
    assert str(caught.value) == (
        f"{out} must hold the same run to be continued, but its configuration differs; "
        "give another --out"
    )


def test_a_checkpoint_of_another_split_is_refused(tmp_path: Path) -> None:
    path = crashed(tmp_path, 0)
    path.rename(tmp_path / "checkpoint-1.safetensors")
    with pytest.raises(RunError, match=r"must belong to this training .* \(got another split, "):
        run(tmp_path)


def test_another_graph_of_the_same_name_is_refused(tmp_path: Path) -> None:
    path = crashed(tmp_path, 0)
    other = graph()
    other.x += 1
    with pytest.raises(RunError) as caught:
        train_splits(other, "herofilter", QUICK, (0,), "small", tmp_path)
    assert str(caught.value) == (
        f"{path} must belong to this training to be continued (got another content of the "
        "graph); give another --out, or delete it to begin anew"
    )


def test_a_damaged_checkpoint_means_a_new_beginning(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    out, heard = tmp_path / "run", []
    path = crashed(out, 0)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.warns(CheckpointWarning, match=r"can't be used \(it is damaged\)"):
        run(out, callback=heard.append)
    assert epochs(heard)[0] == (0, 0)
    assert content(out) == content(tmp_path / "whole")


def test_ctrl_c_leaves_the_checkpoint(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    out, heard = tmp_path / "run", []
    summary = run(out, callback=stop_in(1, 3, KeyboardInterrupt()))
    assert summary["interrupted"]
    assert summary["splits"] == [0, 1]
    assert list(json.loads((out / "metrics.json").read_text())["splits"]) == ["0"]
    assert (out / "checkpoint-1.safetensors").exists()
    run(out, callback=heard.append)
    assert epochs(heard)[0] == (1, 3)
    assert content(out) == content(tmp_path / "whole")


def leave_scratch(folder: Path, what: str) -> None:
    """Leave what a process that was killed while it wrote a file leaves."""
    with scratch_folder(folder, what) as made:
        name = made.name
    # no process has this number
    left = folder / name.replace(f"-{os.getpid()}-", "-99999999-")
    left.mkdir()
    (left / what).write_text("half")


def test_leftovers_of_a_killed_writing_go(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name in ("config.yaml", "checkpoint-0.safetensors"):
        leave_scratch(out, name)
    run(out)
    assert {path.name for path in out.iterdir()} == FILES
    # a split that was written before its checkpoint could be taken away
    (out / "checkpoint-1.safetensors").write_text("old")
    leave_scratch(out, "metrics.json")
    leave_scratch(out / "split-1", "new")
    run(out)
    assert {path.name for path in out.iterdir()} == FILES
    SavedModel.load(out / "split-1")


@pytest.mark.parametrize(
    "name", [".config.yaml.swp", ".notes.txt.abcd1234", "config.yaml.abcd1234", ".tmp3zUYih"]
)
def test_files_of_others_are_no_leftovers(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match="must be new, empty or a run to continue"):
        run(tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    train_splits(graph(), "herofilter", QUICK, (0,), checkpoint_every=0.0)
    assert list(tmp_path.iterdir()) == []
