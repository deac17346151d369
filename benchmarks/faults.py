"""Faults on purpose: kills, full and read-only disks, two commands at once.

python -m benchmarks.faults [--kills 50] [--operations 0] [--seconds 7200] [--command NAME]
                            [--write]

After each fault the same command is given again: it must end well, leave the same result as one
that was never disturbed, and leave nothing else behind. Full and read-only disks need root, for
mounting a small file system. --operations 0 kills at every operation on a file.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.faults_serve import NAME as SERVE, Serving
from benchmarks.faults_work import (
    COMMANDS,
    Ended,
    fingerprint,
    leftovers,
    prepare_inputs,
    run,
    start,
    wait,
)
from herofilter.files import write_json
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/faults.json")
# of the file system that is full, in KiB; the rest of the trial has room
SIZES = (16, 256)
_ROOM = "256m"
_READ_ONLY = "read-only"
_CACHES = ("full cache", f"{_READ_ONLY} cache")
NAMES = (*COMMANDS, SERVE)


class Faults:
    """The trials of some commands in a folder, and what was found.

    Args:
        folder: for inputs and trials.
        names: of ``NAMES``.
        deadline: a value of :func:`time.perf_counter` past which no trial begins.
    """

    def __init__(self, folder: Path, names: Sequence[str], deadline: float) -> None:
        self.folder, self.names, self.deadline = folder, names, deadline
        self.commands = [name for name in names if name != SERVE]
        self.serving, self.answer = Serving(), None
        self.counts: dict[str, Counter[str]] = {}
        self.wrong: list[dict[str, str]] = []
        self.trial = 0
        self.can_mount = _can_mount(folder)
        prepare_inputs(folder)
        self.expected: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}
        self.operations: dict[str, int] = {}
        for name in self.commands:
            place, count = self.place(), folder / "count"
            ended = run(COMMANDS[name], place, count=count)
            if ended.code:
                raise SystemExit(f"{name} must end well undisturbed (got {ended.said[-500:]})")
            self.expected[name] = fingerprint(place)
            self.seconds[name], self.operations[name] = ended.seconds, int(count.read_text())

    def place(self) -> Path:
        """Return a new folder for a trial."""
        self.trial += 1
        place = self.folder / f"trial-{self.trial}"
        place.mkdir()
        return place

    def random_kills(self, kills: int, seed: int = 0) -> None:
        """Kill commands at random moments, one after the other, until there are enough kills."""
        draw = random.Random(seed)
        for number in range(kills):
            name = self.names[number % len(self.names)]
            if time.perf_counter() > self.deadline:
                return
            if name == SERVE:
                self.kill_service(draw)
                continue
            place = self.place()
            child = start(COMMANDS[name], place)
            ended = wait(child, place, draw.uniform(0.0, self.seconds[name]))
            self.judge("random kills", name, place, ended)

    def operation_kills(self, most: int, seed: int = 0) -> None:
        """Kill each command at every operation on a file, or at ``most`` of them, evenly spread."""
        chosen = []
        for name in self.commands:
            every = range(1, self.operations[name] + 1)
            step = 1 if not most else -(-len(every) // most)
            chosen += [(name, at) for at in every[::step]]
        # in any order, so that a deadline cuts all commands alike
        random.Random(seed).shuffle(chosen)
        for name, at in chosen:
            if time.perf_counter() > self.deadline:
                return
            place = self.place()
            ended = run(COMMANDS[name], place, kill_at=at)
            self.judge("kills at operations", name, place, ended, f"operation {at}")

    def full_disks(self) -> None:
        """Give each command disks that are full or read-only, for its result and for the cache."""
        for name in self.commands:
            for kind in (*(f"{size}k" for size in SIZES), _READ_ONLY, *_CACHES):
                if time.perf_counter() > self.deadline:
                    return
                place = self.place()
                with _disk(place / ("cache" if kind in _CACHES else "out"), kind) as freed:
                    ended = run(COMMANDS[name], place)
                    if kind in _CACHES and ended.code != 0:
                        self.note("full disks", name, kind, ended.said[-300:])
                    freed()
                    self.judge("full disks", name, place, ended, kind)

    def pairs(self) -> None:
        """Give each command twice at the same moment, for the same folder."""
        for name in self.commands:
            place = self.place()
            children = [start(COMMANDS[name], place) for _ in range(2)]
            ended = [wait(child, place) for child in children]
            if all(each.code for each in ended) or any(each.code not in (0, 2) for each in ended):
                self.note("two at once", name, str([each.code for each in ended]), ended[0].said)
            self.judge("two at once", name, place)

    def services(self) -> None:
        """Start a service twice, and with a full cache; it must answer as it did at first."""
        with self.serving.running(self.place()) as (self.answer, self.seconds[SERVE]):
            told = self.serving.second(self.place())
            self.judge_service("two at once", self.serving.answer())
        if told.code != 2 or not told.is_clean:
            self.note("two at once", SERVE, "", told.said[-500:])
        if self.can_mount:
            place = self.place()
            with _disk(place / "cache", _CACHES[0]), self.serving.running(place) as (found, _):
                self.judge_service("full disks", found)

    def kill_service(self, draw: random.Random) -> None:
        """Kill a service at a random moment, and start it again."""
        place = self.place()
        ended = self.serving.killed(place, draw, self.seconds[SERVE])
        with self.serving.running(place) as (found, _):
            self.judge_service("random kills", found, ended)
        if left := leftovers(place):
            self.note("random kills", SERVE, "", f"left behind: {left[:5]}")

    def judge_service(self, kind: str, found: Any, ended: Ended | None = None) -> None:
        """Count a trial of the service, and compare its answer."""
        count = self.counts.setdefault(kind, Counter())
        count["trials"] += 1
        if ended is not None:
            count["killed" if ended.code < 0 else "told"] += 1
        if "probabilities" not in json.dumps(self.answer) or found != self.answer:
            self.note(kind, SERVE, "", f"another answer: {json.dumps(found)[:500]}")

    def judge(
        self, kind: str, name: str, place: Path, ended: Ended | None = None, at: str = ""
    ) -> None:
        """Give the command again, and compare what is there with the undisturbed result."""
        count = self.counts.setdefault(kind, Counter())
        count["trials"] += 1
        if ended is not None:
            count["killed" if ended.code < 0 else "told" if ended.code else "ended well"] += 1
            if ended.code >= 0 and not ended.is_clean:
                self.note(kind, name, at, ended.said[-500:])
        again = run(COMMANDS[name], place)
        left = leftovers(place)
        if again.code:
            self.note(kind, name, at, f"the same command failed: {again.said[-500:]}")
        elif fingerprint(place) != self.expected[name]:
            found = fingerprint(place)
            other = {
                key
                for key in {*found, *self.expected[name]}
                if found.get(key) != self.expected[name].get(key)
            }
            self.note(kind, name, at, f"another result: {sorted(other)[:5]}")
        if left:
            self.note(kind, name, at, f"left behind: {left[:5]}")
        shutil.rmtree(place, ignore_errors=True)

    def note(self, kind: str, name: str, at: str, said: str) -> None:
        """Keep what was wrong."""
        self.wrong.append({"fault": kind, "command": name, "at": at, "said": said.strip()})
        print(json.dumps(self.wrong[-1]), file=sys.stderr, flush=True)


@contextmanager
def _disk(path: Path, kind: str) -> Iterator[Callable[[], None]]:
    """Mount a small file system; yield a function that makes it large and writable."""
    path.mkdir()
    size = _ROOM if _READ_ONLY in kind else "16k" if kind in _CACHES else kind
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path))
    if _READ_ONLY in kind:
        _mount("-o", "remount,ro", str(path))
    try:
        yield lambda: _mount("-o", f"remount,rw,size={_ROOM}", str(path))
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _can_mount(folder: Path) -> bool:
    path = folder / "mount"
    path.mkdir()
    tried = subprocess.run(
        ["mount", "-t", "tmpfs", "tmpfs", str(path)], check=False, capture_output=True
    )
    if tried.returncode == 0:
        subprocess.run(["umount", str(path)], check=True)
    return tried.returncode == 0


def run_faults(
    kills: int, operations: int, seconds: float, names: Sequence[str] = NAMES
) -> dict[str, Any]:
    """Try all faults; return counts, and what was wrong."""
    started = time.perf_counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        faults = Faults(folder, names, started + seconds)
        faults.pairs()
        if faults.can_mount:
            faults.full_disks()
        if SERVE in names:
            faults.services()
        faults.random_kills(kills)
        faults.operation_kills(operations)
    return {
        "command": f"python -m benchmarks.faults --kills {kills} --operations {operations} "
        f"--seconds {seconds:g}"
        + ("" if set(names) == set(NAMES) else f" --command {' --command '.join(names)}"),
        "commands": {
            name: {"operations": faults.operations.get(name, 0), "seconds": round(seconds, 2)}
            for name, seconds in faults.seconds.items()
        },
        "faults": {kind: dict(sorted(count.items())) for kind, count in faults.counts.items()},
        "trials": sum(count["trials"] for count in faults.counts.values()),
        "full_disks_tried": faults.can_mount,
        "in_time": time.perf_counter() < started + seconds,
        "wrong": faults.wrong,
        "seconds": round(time.perf_counter() - started, 1),
        "environment": environment(),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--operations", type=int, default=0, help="of each command; 0 for all")
    parser.add_argument("--seconds", type=float, default=7200.0, help="no trial begins later")
    parser.add_argument("--command", choices=NAMES, action="append")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}")
    options = parser.parse_args(arguments)
    names = options.command or NAMES
    result = run_faults(options.kills, options.operations, options.seconds, names)
    if options.write:
        # those of some commands don't replace those of all
        name = "-".join(["faults", *(options.command or ())]).replace(" ", "-")
        write_json(RESULT.with_stem(name), result)
    del result["environment"]
    print(json.dumps(result, indent=1))
    if result["wrong"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
