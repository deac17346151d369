"""CPU seconds of short commands, as a ratio to ``import torch``.

python -m benchmarks.startup [--repeats 5] [--json] [--write]

Every command is a separate process, on a tiny graph. CPU seconds are those of the user and the
system together, which other processes on the machine disturb little.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herofilter.reproduce.speed.child import run_child

RESULT = Path("results/startup.json")
REPEATS = 5
BASE = "import torch"
BAR = 0.25
# macOS counts in bytes, others in KiB
_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Line:
    """A command line to measure: arguments of ``python``, exit code, and largest ratio if any."""

    words: tuple[str, ...]
    code: int = 0
    bar: float | None = None


@dataclass(frozen=True)
class Cost:
    """What one process took: CPU seconds of user and system, and its largest resident memory."""

    seconds: float
    peak_bytes: int


_CLI = ("-m", "herofilter")
LINES: Mapping[str, Line] = {
    BASE: Line(("-c", BASE)),
    "herofilter --help": Line((*_CLI, "--help"), bar=BAR),
    "herofilter trian (a typo)": Line((*_CLI, "trian"), code=2, bar=BAR),
    "herofilter info karate": Line((*_CLI, "info", "karate")),
    "herofilter predict": Line((*_CLI, "predict", "model")),
    "herofilter explain": Line((*_CLI, "explain", "model", "--node", "0")),
}


def run_startup(repeats: int = REPEATS, lines: Mapping[str, Line] = LINES) -> dict[str, Any]:
    """Return the median cost of every command line and its ratio to ``import torch``.

    Each line runs once before it is measured, so that compiled functions are in their caches.
    The lines are interleaved, so that noise of the machine affects all of them alike.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in lines}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_model(folder)
        for repeat in range(repeats + 1):
            for name, line in lines.items():
                cost = measure(line.words, folder, line.code)
                if repeat:
                    costs[name].append(cost)
    base = _median(costs[BASE])
    rows = [
        {
            "what": name,
            "cpu_seconds": round(_median(costs[name]), 3),
            "ratio": round(_median(costs[name]) / base, 3),
            "bar": line.bar,
            "peak_bytes": statistics.median_low(cost.peak_bytes for cost in costs[name]),
        }
        for name, line in lines.items()
    ]
    return {"command": "python -m benchmarks.startup --write", "repeats": repeats, "rows": rows}


def save_model(folder: Path, num_nodes: int = 60) -> None:
    """Fit HeroFilter on a ring of nodes and save it as ``model`` in the folder."""
    ids = range(num_nodes)
    nodes = [f"{node},{node % 7},{'ab'[node % 2]}" for node in ids]
    edges = [f"{node},{(node + step) % num_nodes}" for node in ids for step in (1, 2)]
    (folder / "nodes.csv").write_text("\n".join(["id,size,label", *nodes]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]))
    tables = ("--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "label")
    quick = ("--model", "herofilter", "--trials", "1", "--set", "epochs=2", "--set", "patch_size=4")
    measure((*_CLI, "fit", *tables, *quick), folder)


def measure(words: tuple[str, ...], folder: Path, code: int = 0) -> Cost:
    """Run Python in a folder and return the cost of the process; check its exit code."""
    environment = {**os.environ, "HEROFILTER_CACHE": str(folder / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=environment, stdout=output, stderr=output
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != code:
            output.seek(0)
            said = output.read().decode(errors="replace").strip()
            sys.exit(f"{' '.join(words)} must end with {code} (got {process.returncode}): {said}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _UNIT)


def _median(costs: list[Cost]) -> float:
    return statistics.median(cost.seconds for cost in costs)


def _environment() -> dict[str, object]:
    # in a child: memory that this process had would count as that of the processes it starts
    from herofilter.training.artifacts.environment import environment

    return environment()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="of each command")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    result = run_startup(options.repeats)
    if options.write:
        from herofilter.files import write_json

        write_json(RESULT, {**result, "environment": run_child(_environment).value})
    if options.json:
        print(json.dumps(result))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Median of {options.repeats} processes each, ratio to {BASE}")
    for title in ("what", "CPU seconds", "ratio", "at most", "peak MiB"):
        table.add_column(title, justify="left" if title == "what" else "right", no_wrap=True)
    for row in result["rows"]:
        table.add_row(
            row["what"],
            f"{row['cpu_seconds']:.2f}",
            f"{row['ratio']:.2f}",
            "" if row["bar"] is None else f"{row['bar']:.2f}",
            f"{row['peak_bytes'] / 2**20:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
