"""How fast and in how much memory a large graph is read from Parquet or CSV tables.

python -m benchmarks.tables [--nodes 1000000] [--edges 5000000] [--csv] [--json FILE]
"""

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from herofilter.data import read_graph
from herofilter.files import write_json
from herofilter.reproduce.speed.child import peak_gib, run_child

EDGES_PER_NODE = 5


def write_tables(folder: Path, num_nodes: int, num_edges: int, ending: str, seed: int = 0) -> None:
    """Write string ids, numeric columns, categories, lists and labels, each with missing values.

    Lists are words between bars in a CSV table.
    """
    rng = np.random.default_rng(seed)
    ids = pa.array([f"user-{user:09d}" for user in rng.permutation(num_nodes)])
    counts = rng.integers(0, 5, num_nodes)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    tags = _words("tag", rng.zipf(1.5, starts[-1]) % 2000)
    lists = pa.ListArray.from_arrays(pa.array(starts), tags)
    nodes = {
        "id": ids,
        "age": _with_gaps(rng.integers(18, 90, num_nodes), rng),
        "income": _with_gaps(rng.lognormal(10, 1, num_nodes), rng),
        "score": pa.array(rng.standard_normal(num_nodes)),
        "country": _with_gaps(_words("country", rng.integers(0, 50, num_nodes)), rng),
        "city": _words("city", rng.zipf(1.3, num_nodes) % 5000),
        "active": _with_gaps(rng.random(num_nodes) < 0.7, rng),
        "tags": pc.binary_join(lists, "|") if ending == "csv" else lists,
        "label": _with_gaps(_words("class", rng.integers(0, 10, num_nodes)), rng),
    }
    write = pcsv.write_csv if ending == "csv" else pq.write_table
    write(pa.table(nodes), folder / f"nodes.{ending}")
    ends = (ids.take(pa.array(rng.integers(0, num_nodes, num_edges))) for _ in range(2))
    edges = pa.table(dict(zip(("source", "target"), ends, strict=True)))
    write(edges, folder / f"edges.{ending}")


def measure(folder: Path, ending: str) -> dict[str, Any]:
    """Read the tables and return seconds, the peak memory of this process, and sizes."""
    before = _peak_bytes()
    started, cpu = time.perf_counter(), time.process_time()
    graph = read_graph(folder / f"edges.{ending}", folder / f"nodes.{ending}", "label")
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "nodes": graph.data.num_nodes,
        "edges": graph.data.num_edges,
        "features": graph.encoder.num_features,
        "classes": len(graph.classes),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_bytes": _peak_bytes(),
        "peak_bytes_before": before,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, help="five per node, if not given")
    parser.add_argument("--csv", action="store_true", help="CSV tables instead of Parquet")
    parser.add_argument("--json", type=Path, help="write the measurements to this file, too")
    options = parser.parse_args(arguments)
    num_edges = EDGES_PER_NODE * options.nodes if options.edges is None else options.edges
    ending = "csv" if options.csv else "parquet"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _in_child(write_tables, folder, options.nodes, num_edges, ending)
        result = _in_child(measure, folder, ending)
    print(
        f"{result['nodes']} nodes and {result['edges']} edges with {result['features']} features: "
        f"{result['seconds']:.1f} s ({result['cpu_seconds']:.1f} s of CPU), "
        f"peak {result['peak_bytes'] / 2**30:.2f} GiB "
        f"({result['peak_bytes_before'] / 2**30:.2f} GiB before reading)"
    )
    if options.json is not None:
        versions = {"python": platform.python_version(), "pyarrow": pa.__version__}
        command = f"python -m benchmarks.tables --nodes {options.nodes} --edges {num_edges}"
        command += " --csv" * options.csv
        write_json(options.json, {"command": command, **result, **versions})


def _in_child(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run in a new process, so that writing and reading have separate peaks of memory."""
    outcome = run_child(work, *arguments)
    if outcome.why is not None:
        sys.exit(f"{work.__name__}: {outcome.why}")
    return outcome.value


def _words(stem: str, values: np.ndarray) -> pa.Array:
    words = pa.array([f"{stem} {value}" for value in range(int(values.max(initial=0)) + 1)])
    return words.take(pa.array(values))


def _with_gaps(values: Any, rng: np.random.Generator, share: float = 0.1) -> pa.Array:
    column = pa.array(values)
    gaps = pa.array(np.where(rng.random(len(column)) < share, -1, np.arange(len(column))))
    return column.take(pc.if_else(pc.less(gaps, 0), None, gaps))


def _peak_bytes() -> int:
    return round(peak_gib() * 2**30)


if __name__ == "__main__":
    main()
