"""The command patch, as a user types it."""

from pathlib import Path

import pytest
import torch

from herofilter import FastPatcher, PatchStore, load_dataset
from herofilter.callbacks import Event
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
    expected = FastPatcher(4)(load_dataset(mine, split=None))
    assert torch.equal(patches.index.long(), expected.index)
    # all patches exist, so none is computed again
    before = (tmp_path / "p" / "index.bin").stat().st_mtime_ns
    assert cli(*arguments).code == 0
    assert (tmp_path / "p" / "index.bin").stat().st_mtime_ns == before


def test_relations_and_certified_share(cli: Cli, mine: str, tmp_path: Path) -> None:  # noqa: F811
    options = ("--directed", "--relations", "out,in", "--refine", "1000", "--no-self-loops")
    summary = cli("patch", mine, "--out", str(tmp_path / "p"), *options, "--json").json()
    assert summary["settings"]["relations"] == ["out", "in"]
    assert summary["settings"]["directed"] == "keep"
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
        (("--refine", "-1"), "refine must not be negative (got -1)"),
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
