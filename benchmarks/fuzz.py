"""Damaged inputs by the thousand: each must be taken, or refused with a HeroFilterError.

python -m benchmarks.fuzz [--inputs 100000] [--seconds 7200] [--target NAME] [--first 0] [--write]

Input number k of a target is the same in every run: --target NAME --first k --inputs 1 repeats it.
"""

import argparse
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import torch

from benchmarks.fuzz_targets import Targets
from herofilter.errors import HeroFilterError
from herofilter.files import write_json
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/fuzz.json")
NAMES = (
    *("tables", "arrow", "npz", "model", "settings", "requests"),
    *("parquet", "graphs", "patches"),
)
# of one input
SECONDS, BYTES = 20, 4 * 2**30
_BATCH = 200
_SHOWN = 30


def run_fuzz(
    inputs: int,
    seconds: float = 7200.0,
    names: Sequence[str] = NAMES,
    first: int = 0,
) -> dict[str, Any]:
    """Feed about as many inputs as asked for, shared out among the targets, and count what came.

    Each batch runs in a forked process, so that a crash is a finding and not the end. ``seconds``
    is when no further batch is started.
    """
    started = time.perf_counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    failures: list[dict[str, Any]] = []
    share = -(-inputs // len(names))
    with tempfile.TemporaryDirectory() as scratch:
        for start in range(first, first + share, _BATCH):
            for name in names:
                if time.perf_counter() - started > seconds:
                    continue
                stop = min(start + _BATCH, first + share)
                found = _in_process(Path(scratch) / name, name, range(start, stop))
                counts[name] += Counter(kind for kind, _, _ in found)
                failures += [
                    {"target": name, "input": number, "error": said}
                    for kind, number, said in found
                    if kind == "failed"
                ]
    return {
        "command": f"python -m benchmarks.fuzz --inputs {inputs} --seconds {seconds:g}"
        + (f" --first {first}" if first else ""),
        "inputs": sum(sum(count.values()) for count in counts.values()),
        "asked": inputs,
        "targets": {name: dict(sorted(count.items())) for name, count in counts.items()},
        "failed": len(failures),
        # one of each kind
        "failures": list({each["error"][:60]: each for each in failures}.values())[:_SHOWN],
        "limits": {"seconds": SECONDS, "bytes": BYTES},
        "seconds": round(time.perf_counter() - started, 1),
        "environment": environment(),
    }


def feed(targets: Targets, name: str, number: int) -> tuple[str, int, str]:
    """Feed one input; return taken, refused or failed, its number, and what was said."""
    draw = random.Random(f"{name} {number}")
    signal.alarm(SECONDS)
    try:
        targets.names[name](draw)
    except HeroFilterError as error:
        if "\n" in str(error):
            return "failed", number, f"a sentence of several lines: {error!r:.300}"
        return "refused", number, ""
    except BaseException as error:
        at = traceback.extract_tb(error.__traceback__)
        ours = [line for line in at if "herofilter" in line.filename] or at
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return "failed", number, f"{type(error).__name__} at {where}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    return "taken", number, ""


def _in_process(folder: Path, name: str, numbers: range) -> list[tuple[str, int, str]]:
    """Feed inputs in a forked process; one that ends it is the first that has no outcome."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _limit()
        targets = Targets(folder)
        with os.fdopen(writer, "wb") as pipe:
            for number in numbers:
                pickle.dump(feed(targets, name, number), pipe)
                pipe.flush()
        os._exit(0)
    os.close(writer)
    found = []
    with os.fdopen(reader, "rb") as pipe:
        while True:
            try:
                found.append(pickle.load(pipe))
            except (EOFError, pickle.UnpicklingError):
                break
    status = os.waitpid(child, 0)[1]
    if len(found) < len(numbers):
        number = numbers[len(found)]
        found.append(("failed", number, f"the process ended with status {status}"))
        found += _in_process(folder, name, range(number + 1, numbers.stop))
    return found


def _limit() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)

    def too_long(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, too_long)
    limit = psutil.Process().memory_info().vms + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--target", choices=NAMES, action="append")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}")
    options = parser.parse_args(arguments)
    result = run_fuzz(options.inputs, options.seconds, options.target or NAMES, options.first)
    if options.write:
        write_json(RESULT, result)
    print(
        json.dumps({key: value for key, value in result.items() if key != "environment"}, indent=1)
    )
    if result["failed"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
