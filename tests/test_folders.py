import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from herofilter.errors import RunError
from herofilter.folders import LOCK, entries, finish_replacing, locked_folder, replaced_files
from herofilter.scratch import remove_strays, scratch_folder

# replaces two files and removes a third; is killed at one of its operations
REPLACE = """
import os, signal, sys
from pathlib import Path
from herofilter.folders import replaced_files

count, at = 0, int(sys.argv[2])

def hook(event, args):
    global count
    writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
    if writes or event in ("os.rename", "os.mkdir", "os.rmdir", "os.remove"):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
with replaced_files(Path(sys.argv[1]), last="seal") as (scratch, gone):
    for name in ("a", "seal"):
        (scratch / name).write_text("new")
    gone.append("b")
"""
OLD = {"a": "old", "b": "old", "seal": "old", "mine": "kept"}
NEW = {"a": "new", "seal": "new", "mine": "kept"}


def content(folder: Path) -> dict[str, str]:
    # a lock that nobody holds says nothing, and goes with the next one who takes it
    assert all(path.is_file() for path in folder.iterdir())
    return {path.name: path.read_text() for path in entries(folder)}


def fill(folder: Path) -> Path:
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.slow
def test_a_kill_at_any_operation_leaves_the_old_or_the_new_files(tmp_path: Path) -> None:
    ends = []
    for at in range(1, 100):
        folder = fill(tmp_path / str(at))
        child = subprocess.run([sys.executable, "-c", REPLACE, str(folder), str(at)], check=False)
        finish_replacing(folder)
        ends.append(content(folder))
        assert ends[-1] in (OLD, NEW), at
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL
    assert ends[0] == OLD
    assert ends[-1] == NEW
    assert len(ends) > 10


def test_files_are_replaced_together(tmp_path: Path) -> None:
    folder = fill(tmp_path / "folder")
    with replaced_files(folder, last="seal") as (scratch, gone):
        for name in ("a", "seal"):
            (scratch / name).write_text("new")
        gone.append("b")
        assert {path.name: path.read_text() for path in entries(folder)} == OLD
    assert content(folder) == NEW


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with replaced_files(tmp_path / "new" / "inner", last="seal") as (scratch, _):
            (scratch / "a").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys
from pathlib import Path
from herofilter.folders import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_command_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunError) as caught, locked_folder(folder):
            pass
        assert str(caught.value) == (
            f"{folder} must be written by one command at a time, but another one is writing into "
            "it; wait until it has ended, or give another folder"
        )
        # a kill lets go of it
        holder.kill()
        holder.wait()
        with locked_folder(folder), locked_folder(folder):
            assert [path.name for path in folder.iterdir()] == [LOCK]
            assert entries(folder) == []
    assert list(folder.iterdir()) == []


def test_a_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "a" / "b"):
        pass
    assert list(tmp_path.iterdir()) == []
    with locked_folder(tmp_path / "a"):
        (tmp_path / "a" / "result").touch()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["result"]


def test_only_scratch_folders_of_ended_processes_go(tmp_path: Path) -> None:
    with scratch_folder(tmp_path, "file.json") as alive:
        dead = tmp_path / alive.name.replace(f"-{os.getpid()}-", "-99999999-")
        elsewhere = tmp_path / f".file.json.ffffff-1-{'0' * 8}.part"
        mine = tmp_path / ".file.json.abcd1234"
        for folder in (dead, elsewhere, mine):
            folder.mkdir()
            (folder / "file.json").write_text(json.dumps(1))
        remove_strays(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {
            alive.name,
            elsewhere.name,
            mine.name,
        }
        # on another machine nobody writes for a day
        os.utime(elsewhere, (0, 0))
        remove_strays(tmp_path)
        assert not elsewhere.exists()


@pytest.mark.parametrize(
    "plan",
    [
        '{"last": "seal", "gone": ["../mine"]}',
        '{"last": "../mine", "gone": []}',
        '{"last": "seal", "gone": [".."]}',
        '{"last": 1, "gone": {}}',
        '{"gone": []}',
        "[]",
        "{",
        "[" * 100_000,
    ],
)
def test_a_hostile_plan_does_nothing(tmp_path: Path, plan: str) -> None:
    folder = fill(tmp_path / "model")
    (tmp_path / "mine").write_text("mine")
    with scratch_folder(folder, "new") as made:
        name = made.name
    ready = folder / name.replace(f"-{os.getpid()}-", "-99999999-").replace(".part", ".ready")
    ready.mkdir()
    (ready / "a").write_text("hostile")
    (ready / ".replace.json").write_text(plan)
    finish_replacing(folder)
    assert (tmp_path / "mine").read_text() == "mine"
    assert {path.name: path.read_text() for path in entries(folder)} == OLD
