"""A training that is killed again and again ends with the same result as one that isn't.

python -m benchmarks.kills [--graph arxiv-year-structure] [--kills 10] [--json] [--write]
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from herofilter.files import load_tensors, write_json
from herofilter.patchers.store import PatchStore
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/kills.json")
GRAPH = "arxiv-year-structure"
SETTINGS = ("--preset", "tuned", "--set", "epochs=3", "--workers", "1")
KILLS = 10
# seconds between a start and a kill, uniform: for the first half of the kills, while patches are
# made, and for the second
EARLY, LATE = (4.0, 12.0), (5.0, 45.0)


def run_kills(
    graph: str = GRAPH,
    settings: Sequence[str] = SETTINGS,
    kills: int = KILLS,
    early: tuple[float, float] = EARLY,
    late: tuple[float, float] = LATE,
    seed: int = 0,
) -> dict[str, Any]:
    """Train once undisturbed and once with kills; compare patches, weights and histories.

    Each of the two starts with an empty cache, so that patches are made, too.

    Args:
        graph: a dataset's name or a path.
        settings: further arguments of ``herofilter train``.
        kills: how often the second training is killed, unless it ends before.
        early: shortest and longest time until one of the first half of the kills.
        late: the same for the other half.
        seed: of those times.
    """
    with tempfile.TemporaryDirectory() as scratch:
        complete, killed = Path(scratch, "complete"), Path(scratch, "killed")
        started = time.perf_counter()
        _finish(graph, settings, complete)
        seconds = time.perf_counter() - started
        generator, stages = random.Random(seed), []
        for kill in range(kills):
            gaps = early if kill < kills // 2 else late
            stage = _kill(graph, settings, killed, generator.uniform(*gaps))
            if stage is None:
                break
            stages.append(stage)
            print(f"killed for the {len(stages)}. time, while {stage}", file=sys.stderr, flush=True)
        _finish(graph, settings, killed)
        found, expected = fingerprint(killed), fingerprint(complete)
    return {
        "command": f"python -m benchmarks.kills --graph {graph} --kills {kills}",
        "trained_by": " ".join(["herofilter", "train", graph, *settings]),
        "kills": len(stages),
        "killed_while": {stage: stages.count(stage) for stage in sorted(set(stages))},
        "seconds_undisturbed": seconds,
        "undisturbed": expected,
        "killed": found,
        "same": found == expected,
        "environment": environment(),
    }


def fingerprint(folder: Path) -> dict[str, Any]:
    """Return hashes of all that a training wrote, without times."""
    metrics = json.loads((folder / "run" / "metrics.json").read_text(encoding="utf-8"))
    for entry in (metrics, *metrics["splits"].values()):
        entry.pop("seconds")
    splits = [folder / "run" / f"split-{split}" for split in sorted(metrics["splits"])]
    states = [load_tensors(split / "weights.safetensors")[0] for split in splits]
    # only patches: the cached graph is a file whose order of names isn't deterministic
    stores = [path.parent for path in (folder / "cache").rglob("store.json")]
    patches = sorted(path for store in stores for path in store.iterdir())
    return {
        "weights": _hash(
            *(state[name].numpy().tobytes() for state in states for name in sorted(state))
        ),
        "history": _hash(*((split / "history.json").read_bytes() for split in splits)),
        "metrics": metrics,
        "patches": {path.name: _hash(path.read_bytes()) for path in patches},
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--graph", default=GRAPH, help="a dataset's name, or a path")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    settings = SETTINGS if options.graph == GRAPH else ("--patcher", "fast")
    result = run_kills(options.graph, settings, options.kills)
    if options.write:
        write_json(RESULT, result)
    if options.json:
        print(json.dumps(result))
    else:
        moments = ", ".join(
            f"{count} while {stage}" for stage, count in result["killed_while"].items()
        )
        outcome = "the same result, bit for bit" if result["same"] else "ANOTHER RESULT"
        print(f"{result['kills']} kills ({moments}): {outcome}")
    if not result["same"]:
        sys.exit(1)


def _start(graph: str, settings: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    code = "from herofilter.cli import main; main()"
    words = ["train", graph, *settings, "--json", "--out", str(folder / "run")]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "HEROFILTER_CACHE": str(folder / "cache")},
        start_new_session=True,
    )


def _finish(graph: str, settings: Sequence[str], folder: Path) -> None:
    if code := _start(graph, settings, folder).wait():
        raise SystemExit(f"herofilter train must end by itself (got exit code {code})")


def _kill(graph: str, settings: Sequence[str], folder: Path, after: float) -> str | None:
    """Kill a training after some seconds; return its stage then, None if it has ended before."""
    process = _start(graph, settings, folder)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        stage = _stage(folder)
        # its workers too
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return stage
    return None


def _stage(folder: Path) -> str:
    stores = [PatchStore.open(path.parent) for path in (folder / "cache").rglob("store.json")]
    if not stores:
        return "starting"
    done = all(len(store.finished()) == store.num_shards for store in stores)
    return "training" if done else "patching"


def _hash(*chunks: bytes) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


if __name__ == "__main__":
    main()
