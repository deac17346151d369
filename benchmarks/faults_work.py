"""The commands that faults are tried on, run in forked processes, and what they leave behind."""

import csv
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import herofilter.cli
from herofilter.data import csbm
from herofilter.files import load_tensors
from herofilter.folders import LOCK
from herofilter.scratch import is_scratch

# loaded once, before the forks
for _module in (
    *("predict.tables", "report.model_report", "report.console", "report.progress"),
    *("training.search.tuning", "training.search.fitting", "reproduce.studies.run"),
    *("reproduce.demo", "reproduce.filters", "reproduce.tables", "report.bench_report"),
    *("serve.app", "serve.server"),
):
    importlib.import_module(f"herofilter.{_module}")
for _module in ("torch.onnx", "onnxscript", "onnxruntime"):
    importlib.import_module(_module)

_GRAPH = "../graph.npz"
_QUICK = ("--set", "patch_size=4", "--set", "hidden_channels=8", "--set", "epochs=3")
_TABLES = ("--edges", "../edges.csv", "--nodes", "../nodes.csv", "--label", "topic")
_FIT = ("--model", "mlp", "--trials", "1", "--budget", "100s", "--no-report")
# a dataset whose raw file is among the inputs, and whose parsed form is kept in the cache
_KEPT = "roman-empire"
_OUT = ("--workers", "1", "--out", "out")
_BENCH = ("--graphs", "karate", *_OUT)
# each works in a folder of its own, beside the inputs, and writes "out" or the cache; not here are
# list, which writes nothing, and serve, which doesn't end (benchmarks/faults_serve.py)
COMMANDS: dict[str, tuple[str, ...]] = {
    "patch": ("patch", _GRAPH, "--patch-size", "4", "--out", "out"),
    "eigen": ("train", _GRAPH, *_QUICK, "--patcher", "spectral", "--no-report", "--out", "out"),
    "train": ("train", _GRAPH, *_QUICK, "--splits", "0,1", "--workers", "1", "--out", "out"),
    "tune": ("tune", _GRAPH, *_QUICK, "--trials", "2", "--splits", "0", "--out", "out"),
    "fit": ("fit", *_TABLES, *_FIT, "--out", "out"),
    "reproduce": ("reproduce", "filter-response", "--quick", "--out", "out"),
    "report": ("report", "../model", "--out", "out/report.html"),
    "predict": ("predict", "../model", "--out", "out/predictions.csv"),
    "explain": ("explain", "../model", "--node", "3", "--out", "out/why.json"),
    "pack": ("pack", _GRAPH, "--out", "out"),
    "export": ("export", "../run", "--split", "0", "--onnx", "out/model.onnx"),
    "info": ("info", _KEPT, "--json"),
    "demo": ("demo", "--quick", "--out", "out"),
    "bench herofilter": ("bench", "herofilter", "--columns", "mlp", *_BENCH, "--splits", "0,1"),
    "bench filters": ("bench", "filters", "--graphs", "dense", "--variants", "no-patch", *_OUT),
    # heterophilic and modern are the same function with other graphs
    "bench homophilic": ("bench", "homophilic", "--models", "mlp", *_BENCH, "--trials", "2"),
}
_CHANGES = ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate")
# differ from run to run
_TIMES = {
    *("seconds", "peak_memory", "environment", "environments", "files", "command", "versions"),
    # how many trials a search has, and their numbers, with those that were killed
    *("trials", "number", "best_trial"),
    *("training_seconds", "elapsed", "started", "workers", "cores", "limit", "spent"),
}
_UNREAD = (".html", ".md", ".db", ".parquet", ".png", ".lock")


def prepare_inputs(folder: Path) -> None:
    """Write a graph, tables and a fitted model that the commands read."""
    data = csbm(num_nodes=90, num_classes=3, average_degree=4, num_features=8, seed=1)
    masks = {f"{part}_masks": data[f"{part}_mask"].numpy().T for part in ("train", "val", "test")}
    arrays = {"edges": data.edge_index.numpy().T, "node_labels": data.y.numpy()}
    np.savez(folder / "graph.npz", **arrays, node_features=data.x.numpy(), **masks)
    raw = folder / "data" / "roman_empire" / "raw"
    raw.mkdir(parents=True)
    shutil.copyfile(folder / "graph.npz", raw / "roman_empire.npz")
    rows = [
        f"{number},{','.join(f'{value:.3f}' for value in row)},{'abc'[int(label)]}"
        for number, (row, label) in enumerate(zip(data.x.tolist(), data.y, strict=True))
    ]
    names = ",".join(f"c{column}" for column in range(data.x.size(1)))
    (folder / "nodes.csv").write_text("\n".join([f"id,{names},topic", *rows]) + "\n")
    pairs = [f"{a},{b}" for a, b in data.edge_index.t().tolist()]
    (folder / "edges.csv").write_text("\n".join(["source,target", *pairs]) + "\n")
    for command, name in (("fit", "model"), ("train", "run")):
        place = folder / "making"
        place.mkdir()
        ended = run(COMMANDS[command], place)
        if ended.code:
            raise SystemExit(f"the {name} must be made first (got {ended.said})")
        (place / "out").rename(folder / name)
        shutil.rmtree(place)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative for a signal), what it said, and how long."""

    code: int
    said: str
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether it ended well, or with one sentence and exit code 2."""
        lines = [line for line in self.said.splitlines() if line.startswith("error: ")]
        return self.code == 0 or (
            self.code == 2 and len(lines) == 1 and "Traceback" not in self.said
        )


def start(words: tuple[str, ...], place: Path, kill_at: int = 0, count: Path | None = None) -> int:
    """Fork a process that runs a command in a folder; return its number.

    Args:
        words: the command.
        place: the folder; what it prints goes into ``said.txt`` there.
        kill_at: kill it at this operation on a file below the folder; 0 for never.
        count: a file to write the number of operations into.
    """
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _in_child(words, place, kill_at, count)
    finally:
        os._exit(70)


def run(words: tuple[str, ...], place: Path, kill_at: int = 0, count: Path | None = None) -> Ended:
    """Run a command in a folder until it ends."""
    return wait(start(words, place, kill_at, count), place)


def wait(child: int, place: Path, seconds: float | None = None) -> Ended:
    """Wait until a process ends; kill it after some seconds if they are given."""
    started = time.perf_counter()
    while True:
        done, status = os.waitpid(child, 0 if seconds is None else os.WNOHANG)
        if done:
            break
        if seconds is not None and time.perf_counter() - started >= seconds:
            # its workers too; before it is the first of its group, it has none
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
            seconds = None
        time.sleep(0.002)
    said = (_said(place)).read_text(errors="replace") if _said(place).exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), said, time.perf_counter() - started)


def leftovers(place: Path) -> list[str]:
    """Return scratch folders and locks below a folder."""
    return sorted(
        str(path.relative_to(place))
        for path in place.rglob("*")
        if is_scratch(path.name) or path.name == LOCK
    )


def fingerprint(place: Path) -> dict[str, str]:
    """Return a hash of each file that a command wrote, and of parsed graphs, without times."""
    return {
        str(path.relative_to(place)): _hash(path)
        for folder in (place / "out", place / "cache" / "graphs")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOCK
    }


def _said(place: Path) -> Path:
    return place / "said.txt"


def _in_child(words: tuple[str, ...], place: Path, kill_at: int, count: Path | None) -> None:
    os.chdir(place)
    output = os.open(_said(place), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["HEROFILTER_CACHE"] = str(place / "cache")
    os.environ["HEROFILTER_DATA"] = str(place.parent / "data")
    sys.argv = ["herofilter", *words]
    operations = _watch(place, kill_at)
    code = 0
    try:
        herofilter.cli.main()
    except SystemExit as end:
        code = int(end.code or 0) if isinstance(end.code, int | None) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    if count is not None:
        count.write_text(str(operations()))
    os._exit(code)


def _watch(place: Path, kill_at: int) -> Callable[[], int]:
    """Count operations that change files below a folder, and kill this process at one of them."""
    done, inside = 0, str(place)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal done
        if event == "open":
            changes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        else:
            changes = event in _CHANGES
        if not changes or not isinstance(args[0], str | os.PathLike):
            return
        if os.path.abspath(os.fspath(args[0])).startswith(inside):
            done += 1
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return lambda: done


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    if path.suffix in _UNREAD:
        return "there"
    if path.suffix == ".json":
        content: Any = _timeless(json.loads(path.read_text()))
        digest.update(json.dumps(content, sort_keys=True).encode())
    elif path.suffix == ".jsonl":
        digest.update("\n".join(sorted(_lines(path))).encode())
    elif path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            digest.update(json.dumps(_timeless(list(csv.DictReader(file)))).encode())
    elif path.suffix == ".safetensors":
        tensors, _ = load_tensors(path)
        for name in sorted(tensors):
            digest.update(name.encode() + tensors[name].numpy().tobytes())
    elif path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                digest.update(name.encode() + archive.read(name))
    elif path.name == "preset.yaml":
        return "there"
    else:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text().splitlines():
        # one that a kill cut short counts as absent
        with suppress(ValueError):
            yield json.dumps(_timeless(json.loads(line)), sort_keys=True)


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items() if key not in _TIMES}
    if not isinstance(value, list):
        return value
    # a trial of tune that was killed is kept in the list of all trials, as one that doesn't count
    return [_timeless(each) for each in value if not _is_interrupted(each)]


def _is_interrupted(value: Any) -> bool:
    return isinstance(value, dict) and value.get("state") == "interrupted"
