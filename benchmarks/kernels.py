"""The compiled loops of inference, as ratios to torch in one run, on one thread.

python -m benchmarks.kernels [--json] [--write]
"""

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from herofilter import load_dataset
from herofilter.files import write_json
from herofilter.nn.aggregation import Aggregation
from herofilter.nn.head import Head
from herofilter.nn.inference.folded import fold_end
from herofilter.nn.mixer import MixerBlock
from herofilter.parallel.threads import one_thread
from herofilter.patchers import FastPatcher, RelationSummary, Slot
from herofilter.reproduce.speed.child import peak_gib
from herofilter.reproduce.speed.timing import seconds_of
from herofilter.spectral.sparse import multiply_sparse
from herofilter.training.artifacts.environment import environment

RESULT = Path("results/kernels.json")
GRAPH = "squirrel"
COLUMNS = (32, 64)
# positions, channels and classes of a mixer
MIXERS = ((11, 16, 5), (11, 64, 5), (11, 64, 40), (33, 64, 5), (11, 256, 5), (11, 512, 5))
NODES = 600
ROUNDS = 40


def run_kernels(graph: str = GRAPH, nodes: int = NODES, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure sparse products and ends of mixers, ours and torch's alternately.

    Args:
        graph: the dataset whose normalised adjacency matrix is multiplied.
        nodes: number of patches that pass through a mixer.
        rounds: how often both are called.
    """
    with torch.no_grad(), one_thread():
        rows = [_sparse(graph, columns, rounds) for columns in COLUMNS]
        rows += [_mixer(*mixer, nodes, rounds) for mixer in MIXERS]
    return {
        "command": "python -m benchmarks.kernels --write",
        "turns": rounds,
        "rows": rows,
        "peak_gib": peak_gib(),
        "environment": environment(),
    }


def _sparse(graph: str, columns: int, rounds: int) -> dict[str, Any]:
    matrix = RelationSummary(load_dataset(graph), FastPatcher()).matrix
    dense = torch.randn(matrix.size(1), columns)
    name = f"{graph}, sparse product with {columns} columns"
    return _compare(name, lambda: multiply_sparse(matrix, dense), lambda: matrix @ dense, rounds)


def _mixer(positions: int, channels: int, classes: int, nodes: int, rounds: int) -> dict[str, Any]:
    block = MixerBlock(positions, channels).eval()
    aggregate = Aggregation("weighted", [Slot("all", 0, positions)], channels)
    head = Head(channels, channels, classes).eval()
    for parameter in block.parameters():
        # the last layers start at zero, which would hide a wrong result
        nn.init.normal_(parameter, std=0.1)
    tokens = torch.randn(positions, nodes, channels)

    def folded() -> Tensor:
        end = fold_end(nn.ModuleList([block]), aggregate, head)
        if end is None:
            raise ValueError("these layers must have a compiled loop")
        return end(tokens)

    name = f"{nodes} patches of {positions}, {channels} channels, {classes} classes"
    return _compare(name, folded, lambda: head(aggregate(block(tokens))), rounds)


def _compare(
    name: str, ours: Callable[[], Tensor], torch_form: Callable[[], Tensor], rounds: int
) -> dict[str, Any]:
    torch.testing.assert_close(ours(), torch_form(), rtol=1e-4, atol=1e-4)
    times = [(seconds_of(ours), seconds_of(torch_form)) for _ in range(rounds)]
    seconds, torch_seconds = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "what": name,
        "seconds": seconds,
        "torch_seconds": torch_seconds,
        "ratio": torch_seconds / seconds,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT}, too")
    options = parser.parse_args(arguments)
    result = run_kernels()
    if options.write:
        write_json(RESULT, result)
    if options.json:
        print(json.dumps(result))
        return
    table = Table(title="One thread, without gradients, milliseconds")
    for title in ("what", "ours", "torch", "times as fast"):
        table.add_column(title, justify="left" if title == "what" else "right")
    for row in result["rows"]:
        values = (f"{1000 * row[key]:.2f}" for key in ("seconds", "torch_seconds"))
        table.add_row(row["what"], *values, f"{row['ratio']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
