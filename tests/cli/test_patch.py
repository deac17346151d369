"""The command patch, as a user types it."""

import importlib.util
from pathlib import Path

import pytest
import torch

from herofilter import PatchStore, load_dataset
from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.nn.build import fast_patcher
from herofilter.report.patching import PatchBar
from tests.cli.test_cli import Cli, cli, mine  # noqa: F401


def test_patch(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    arguments = ("patch", mine, "--out", str(tmp_path / "p"), "--patch-size", "4")
    outcome = cli(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("about ")
    assert "30 patches of 4 nodes in" in outcome.out
    assert "% of them full; written to" in outcome.out.replace("\n", " ")
    patches = PatchStore.open(tmp_path / "p").patches()
    data = load_dataset(mine, split=None)
    expected = fast_patcher(data, Config().replace(patcher="fast", patch_size=4))(data)
    assert torch.equal(patches.index.long(), expected.index)
    # all patches exist, so none is computed again
    before = (tmp_path / "p" / "index.bin").stat().st_mtime_ns
    assert cli(*arguments).code == 0
    assert (tmp_path / "p" / "index.bin").stat().st_mtime_ns == before


def test_relations_and_certified_share(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    options = (
        "--directed",
        "--relations",
        "out,in,cocitation",
        "--refine",
        "1000",
        "--no-self-loops",
    )
    summary = cli("patch", mine, "--out", str(tmp_path / "p"), *options, "--json").json()
    # as in a training: without directions the relation in is out
    assert summary["settings"]["relations"] == ["out", "cocitation"]
    assert summary["settings"]["directed"] == "symmetrise"
    assert summary["settings"]["self_loops"] is False
    assert summary["certified"] == 1.0
    assert summary["num_nodes"] == 30
    assert 0 <= summary["filled"] <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--patch-size", "31"), "patch_size must be between 1 and the number of nodes"),
        (("--relations", "inn"), "a relation must be one of out, in"),
        (("--tolerance", "2"), "tolerance must be above 0 and below 1"),
        (("--refine", "-1"), "refine must be at least 0 (got -1)"),
    ],
)
def test_mistakes(cli: Cli, mine: str, tmp_path: Path, options, message) -> None:  # noqa: F811
    outcome = cli("patch", mine, "--out", str(tmp_path / "p"), *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_folder_of_something_else(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "thesis.tex").touch()
    outcome = cli("patch", mine, "--out", str(tmp_path))
    assert outcome.code == 2
    assert "give another folder" in outcome.err


def test_train_reads_patches_made_with_the_defaults(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    assert cli("patch", mine, "--out", "p").code == 0
    plain = ("--model", "fast-herofilter", "--set", "epochs=3", "--no-report", "--json")
    expected = cli("train", mine, *plain, "--out", "a").json()
    found = cli("train", mine, "--patches", "p", *plain[2:], "--out", "b").json()
    for key in ("model", "config", "test_accuracy", "val_accuracy"):
        assert found[key] == expected[key]
    # what is read is the folder: other patches give another model
    with (tmp_path / "p" / "score.bin").open("r+b") as file:
        file.write(b"\x00" * 4 * 9 * 30)
    weights = [tmp_path / run / "split-0" / "weights.safetensors" for run in ("b", "c")]
    cli("train", mine, "--patches", "p", *plain[2:], "--out", "c")
    assert weights[0].read_bytes() != weights[1].read_bytes()


def test_patches_that_do_not_fit_are_refused(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    options = ("--patch-size", "4", "--self-loops", "--relations", "out")
    assert cli("patch", mine, "--out", "p", *options).code == 0
    message = cli("train", mine, "--patches", "p", "--no-report").error()
    assert message == (
        f"{tmp_path / 'p'} must hold patches made with patch_size=9, self_loops=false, "
        "relations=out,coreference (got others); train with --set patch_size=4 "
        "--set self_loops=true --set relations=out, or make the patches anew"
    )
    sets = ("patch_size=4", "self_loops=true", "relations=out", "epochs=2")
    given = [part for setting in sets for part in ("--set", setting)]
    assert cli("train", mine, "--patches", "p", *given, "--no-report").code == 0
    assert cli("patch", "karate", "--out", "k").code == 0
    message = cli("train", mine, "--patches", "k", "--no-report").error()
    assert message == (
        f"{tmp_path / 'k'} must hold patches of this graph, with 30 nodes (got those of another "
        "graph, with 34 nodes); make some with: herofilter patch GRAPH --out FOLDER"
    )
    message = cli("train", mine, "--patches", "p", "--model", "mlp", "--no-report").error()
    assert "patches must be given to the model fast-herofilter" in message
    assert "must be a folder of patches" in cli("train", mine, "--patches", "none").error()


def test_engines(cli: Cli, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    message = cli("patch", mine, "--out", "p", "--engine", "rai").error()
    assert message == "engine must be one of local, ray (got 'rai') (did you mean 'ray'?)"
    message = cli("patch", mine, "--out", "p", "--address", "10.0.0.1:6379").error()
    assert message == "address must be given with --engine ray only (got '10.0.0.1:6379')"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = cli("patch", mine, "--out", "p", "--engine", "ray").error()
    assert message == (
        "the engine ray needs the optional part 'ray', which isn't installed; "
        'install it with: pip install "herofilter[ray]"'
    )


class FakeBar:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def add_task(self, description: str, total: float) -> int:
        return 0

    def update(self, task: int, completed: int, description: str) -> None:
        self.seen.append(f"{completed} {description}")


def test_rate_counts_only_this_run(monkeypatch) -> None:
    times = iter([0.0, 10.0, 12.0])
    monkeypatch.setattr("herofilter.report.patching.time.perf_counter", lambda: next(times))
    fake = FakeBar()
    bar = PatchBar(1000, fake)
    bar(Event("rows", 500, 1000))
    bar(Event("rows", 700, 1000))
    assert fake.seen == ["500 0 nodes per second", "700 100 nodes per second"]
