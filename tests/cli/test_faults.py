"""What the command line does when a disk is full, a target is odd, or another command is there."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from herofilter import files
from herofilter.folders import LOCK, locked_folder
from tests.cli.test_cli import PLAIN, Cli, cli, mine
from tests.user_tables import write_tables

__all__ = ["cli", "mine"]


@pytest.fixture
def full_disk(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose disk is full; others aren't."""
    folder = Path("full").absolute()
    folder.mkdir()
    sync = os.fsync

    def fail(handle: int) -> None:
        if str(folder) in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fail)
    return folder


COMMANDS = {
    "train": ("train", "mine.npz", *PLAIN, "--out", "full/run"),
    "tune": ("tune", "mine.npz", "--trials", "1", "--out", "full/run"),
    "patch": ("patch", "mine.npz", "--patch-size", "4", "--out", "full/patches"),
    "pack": ("pack", "mine.npz", "--out", "full/graph"),
    "reproduce": ("reproduce", "filter-response", "--quick", "--out", "full/r"),
    "demo": ("demo", "--out", "full/demo"),
    "bench": ("bench", "filters", "--graphs", "texas", "--out", "full/b"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("mine")
def test_a_full_disk_is_told_before_work_begins(cli: Cli, full_disk: Path, name: str) -> None:
    said = cli(*COMMANDS[name]).error()
    assert "No space left on device" in said
    assert list(full_disk.iterdir()) == []


@pytest.mark.usefixtures("mine")
def test_a_full_cache_is_one_warning(
    cli: Cli, full_disk: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", str(full_disk / "cache"))
    files._unkept.clear()
    found = cli("train", "karate", *PLAIN, "--patcher", "spectral", "--out", "run")
    assert found.code == 0
    told = f"{found.err}{[str(each.message) for each in recwarn]}"
    assert told.count("nothing can be kept for next time") == 1


@pytest.mark.parametrize("kind", ["a file for a folder", "a folder for a file", "a device"])
def test_targets_of_the_wrong_kind(cli: Cli, mine: str, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    if kind == "a file for a folder":
        for name in ("train", "tune", "patch", "pack"):
            assert "must be a folder or absent" in cli(name, mine, "--out", "file").error()
    assert cli("train", mine, *PLAIN, "--out", "run").code == 0
    if kind == "a folder for a file":
        assert "must not be a folder" in cli("predict", "run", "--out", "folder").error()
        assert "must not be a folder" in cli("report", "run", "--out", "folder").error()
    if kind == "a device":
        before = os.stat(os.devnull)
        assert "must be a regular file" in cli("predict", "run", "--out", os.devnull).error()
        assert os.stat(os.devnull).st_mode == before.st_mode
    assert (tmp_path / "file").read_text() == "mine"


def test_refused_patches_leave_nothing(cli: Cli, mine: str, tmp_path: Path) -> None:
    said = cli("patch", mine, "--patch-size", "40000", "--out", "patches").error()
    assert said.startswith("patch_size must be between 1 and the number of nodes")
    assert not (tmp_path / "patches").exists()
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    assert (
        "must be new, empty or one to continue"
        in cli("patch", mine, "--patch-size", "4", "--out", "thesis", "--json").error()
    )
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("name", ["train", "tune", "fit", "reproduce"])
def test_two_commands_on_one_folder(cli: Cli, mine: str, tmp_path: Path, name: str) -> None:
    write_tables(tmp_path)
    commands = {
        "train": ("train", mine, *PLAIN),
        "tune": ("tune", mine, "--trials", "1"),
        "fit": ("fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "topic"),
        "reproduce": ("reproduce", "filter-response", "--quick"),
    }
    hold = (
        "import sys\nfrom pathlib import Path\nfrom herofilter.folders import locked_folder\n"
        "with locked_folder(Path('out')):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        said = cli(*commands[name], "--out", "out").error()
        holder.kill()
    assert said == (
        "out must be written by one command at a time, but another one is writing into it; wait "
        "until it has ended, or give another folder"
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == [LOCK]


def test_a_lock_is_let_go_of(cli: Cli, mine: str, tmp_path: Path) -> None:
    assert cli("train", mine, *PLAIN, "--out", "run").code == 0
    assert not (tmp_path / "run" / LOCK).exists()
    with locked_folder(tmp_path / "run"):
        pass


def test_formulas_are_quoted_on_demand(cli: Cli, tmp_path: Path) -> None:
    write_tables(tmp_path)
    for name in ("nodes.csv", "edges.csv"):
        path = tmp_path / name
        path.write_text(path.read_text().replace("user:7", "=cmd|x!7").replace("bio", "@bio"))
    tables = ("--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "topic")
    quick = ("--model", "mlp", "--trials", "1", "--budget", "30s", "--no-report", "--json")
    assert cli("fit", *tables, *quick, "--out", "model", "--safe-csv").code == 0
    text = (tmp_path / "model" / "predictions.csv").read_text()
    assert "'=cmd|x!7" in text
    assert "'@bio" in text
    for cell in text.replace("\n", ",").split(","):
        assert cell.strip('"')[:1] not in ("=", "+", "@")
    assert cli("predict", "model", "--out", "plain.csv", "--json").code == 0
    assert "\n=cmd|x!7" in (tmp_path / "plain.csv").read_text().replace('"', "")


def test_markup_and_emoji_in_a_path_are_shown_as_they_are(cli: Cli, mine: str) -> None:
    assert (
        "written to odd[/bold] :cat:" in cli("train", mine, *PLAIN, "--out", "odd[/bold] :cat:").out
    )
    assert "[red]" in cli("pack", mine, "--out", "[red]").out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["list", "--json"], ["--help"]])
def test_output_on_a_full_disk_is_one_sentence(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        told = subprocess.run(
            [sys.executable, "-m", "herofilter", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert told.returncode == 2
    assert told.stderr == (
        "error: the disk must have room for what is written (it is full); free some space, or "
        "write elsewhere\n"
    )


def test_a_reader_that_has_gone_is_no_error() -> None:
    command = f"{sys.executable} -m herofilter list --json | head -n 1"
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("{\n", "")


@pytest.mark.parametrize("option", ["--results", "--page"])
def test_files_of_a_benchmark_are_tried_before_it_begins(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("trainings have begun")

    (tmp_path / "folder").mkdir()
    monkeypatch.setattr("herofilter.reproduce.accuracy.run_accuracy", fail)
    monkeypatch.setattr("herofilter.reproduce.filters.run_filters", fail)
    for name in ("herofilter", "filters"):
        assert "must not be a folder" in cli("bench", name, option, "folder").error()


def test_too_little_memory_is_one_sentence(
    cli: Cli, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("herofilter.load_dataset", fail)
    assert "must fit into memory" in cli("info", mine).error()
