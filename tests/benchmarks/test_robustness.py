"""Small forms of the harnesses for faults, fuzzing, the soak and the audit."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastapi  # noqa: F401  (the harness of faults loads every room, with its parts)
import onnxscript  # noqa: F401
import pytest
import typer

from benchmarks.audit import run_audit
from benchmarks.faults_serve import NAME as SERVE
from benchmarks.faults_work import COMMANDS, Ended
from benchmarks.fuzz import feed
from benchmarks.fuzz_bytes import changed, damage
from benchmarks.fuzz_targets import Targets
from herofilter.cli.app import app, bench

pytestmark = pytest.mark.slow


def harness(name: str, *words: str) -> dict[str, Any]:
    """Run a harness in a process of its own, since it forks."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.stdout, told.stderr[-2000:]
    return json.loads(told.stdout)


def test_a_thousand_damaged_inputs() -> None:
    found = harness("fuzz", "--inputs", "1000")
    assert found["failures"] == []
    assert 1000 <= found["inputs"] <= 1010
    # each target meets inputs that it takes and inputs that it refuses
    assert all(set(counts) == {"taken", "refused"} for counts in found["targets"].values())


def test_faults_of_two_commands() -> None:
    words = ("--kills", "2", "--operations", "4", "--command", "pack", "--command", "patch")
    found = harness("faults", *words)
    assert found["wrong"] == []
    assert found["faults"]["kills at operations"]["killed"] >= 8
    assert found["faults"]["two at once"]["trials"] == 2


def test_faults_of_a_service() -> None:
    found = harness("faults", "--kills", "2", "--command", "serve")
    assert found["wrong"] == []
    assert found["faults"]["two at once"]["trials"] == 1
    assert found["faults"]["random kills"]["trials"] == 2


def test_every_command_is_tried() -> None:
    def names(group: typer.Typer) -> set[str]:
        return {
            entry.name or (entry.callback.__name__ if entry.callback else "")
            for entry in group.registered_commands
        }

    known = names(app) | {f"bench {name}" for name in names(bench)}
    tried = {" ".join(words[: 1 + (words[0] == "bench")]) for words in COMMANDS.values()}
    # it writes nothing; two are the same function as bench homophilic; ogb keeps its trainings as
    # bench herofilter does
    spared = {"list", "bench heterophilic", "bench modern", "bench ogb"}
    assert known == tried | {SERVE} | spared


def test_a_short_soak_leaves_no_file_open() -> None:
    found = harness("soak", "--minutes", "0")
    assert found["rounds"] == 20
    assert found["open_files_at_the_end"] <= found["open_files_after_a_tenth"]


def test_nothing_is_left_to_audit() -> None:
    found = run_audit()
    assert found["findings"] == []
    assert found["not_free"] == []
    assert found["licences"]["numpy"].startswith("BSD")


def test_an_input_is_the_same_each_time(tmp_path: Path) -> None:
    first, again = (damage(b"a,b\n1,2\n", random.Random("x 1")) for _ in range(2))
    assert first == again != b"a,b\n1,2\n"
    assert changed({"a": [1]}, random.Random(1)) == changed({"a": [1]}, random.Random(1))


def test_what_is_no_sentence_is_a_failure(tmp_path: Path) -> None:
    class Broken(Targets):
        def tables(self, draw: random.Random) -> None:
            raise IndexError("a bug")

    kind, number, said = feed(Broken(tmp_path), "tables", 7)
    assert (kind, number) == ("failed", 7)
    assert said.startswith("IndexError at")


@pytest.mark.parametrize(
    ("code", "said", "clean"),
    [(0, "", True), (2, "error: a b\n", True), (2, "error: a\nTraceback", False), (1, "", False)],
)
def test_how_a_command_may_end(code: int, said: str, clean: bool) -> None:
    assert Ended(code, said, 0.0).is_clean is clean
