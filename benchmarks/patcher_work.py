"""The measurements of the patcher benchmark, each run in a separate process."""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from benchmarks.exact import Truth, exact_truth, filled_share, top_members
from benchmarks.peers import PEERS, Peer
from herofilter import FastPatcher, load_dataset
from herofilter.patchers.relations import Found
from herofilter.reproduce.speed.child import peak_gib
from herofilter.spectral.adjacency import adjacency_matrix

# edges that may be read until a row is certified
REFINE = 10_000
_TIMED_ROWS = 20_000


@dataclass(frozen=True)
class Task:
    """The settings that all processes of one run share.

    Args:
        graph: the name of a dataset.
        patch_size: p.
        c: how far the diffusion reaches.
        num_sources: how many nodes are compared.
        seed: of the random choice of sources.
        loops: whether every node has a self-loop.
        folder: where the exact scores are saved.
    """

    graph: str
    patch_size: int
    c: float
    num_sources: int
    seed: int
    loops: bool
    folder: Path

    def data(self) -> Data:
        """Return the graph."""
        return load_dataset(self.graph, split=None)

    def patcher(self) -> FastPatcher:
        """Return the patcher that is measured."""
        return FastPatcher(
            patch_size=self.patch_size, c=self.c, self_loops=self.loops, refine=REFINE
        )

    def matrix(self, data: Data) -> sp.csr_array:
        """Return the adjacency matrix that the patcher diffuses on."""
        return adjacency_matrix(data.edge_index, int(data.num_nodes or 0), self_loops=self.loops)

    def sources(self, num_nodes: int) -> np.ndarray:
        """Return different random nodes; fewer of them are a prefix of more."""
        order = np.random.default_rng(self.seed).permutation(num_nodes)
        return np.asarray(order[: self.num_sources])

    @property
    def truth_path(self) -> Path:
        """The file of the exact scores."""
        return self.folder / f"truth-{int(self.loops)}.npz"


def measure_ours(task: Task) -> dict[str, Any]:
    """Return the patcher's recall on every source and its time per source; save exact scores."""
    torch.set_num_threads(1)
    data, patcher = task.data(), task.patcher()
    n = int(data.num_nodes or 0)
    matrix, sources = task.matrix(data), torch.from_numpy(task.sources(n))
    _say(f"exact scores of {sources.numel()} sources, {_form(task)}")
    truth = exact_truth(matrix, sources.numpy(), task.patch_size, task.c)
    np.savez(task.truth_path, **vars(truth))
    _say(f"the patcher, {_form(task)}")
    started = time.perf_counter()
    prepared = patcher.prepare(data)
    setup = time.perf_counter() - started
    patches = prepared(sources)
    ((_, width, relation),) = prepared.parts
    # many different sources: a few that repeat would stay in the cache
    many = replace(task, num_sources=_TIMED_ROWS).sources(n)
    runs = [_timed(partial(relation.top, many, width)) for _ in range(3)]
    seconds, found = min(runs, key=lambda run: run[0])
    return {
        "name": "herofilter",
        "tolerance": patcher.tolerance,
        "recalls": [truth.recall(row, chosen) for row, chosen in enumerate(patches.index.numpy())],
        "seconds_per_source": seconds / many.size,
        "ns_per_edge": 1e9 * seconds / max(found.edges, 1),
        "edges_per_source": found.edges / many.size,
        "setup_seconds": setup,
        "nodes": n,
        "entries": int(matrix.nnz),
    }


def measure_peer(task: Task, name: str, recalls: list[float], budget: float) -> dict[str, Any]:
    """Return the loosest tolerance at which a peer's recall is at least ours, and its time there.

    Tolerances are tried from the loosest on, each on as many sources as fit into ``budget``
    seconds; recall is then compared on the same sources.
    """
    torch.set_num_threads(1)
    kind = next(peer for peer in PEERS if peer.name == name)
    matrix = task.matrix(task.data())
    with np.load(task.truth_path) as arrays:
        truth = Truth(**arrays)
    _say(f"{name}")
    peer = kind(matrix, task.c)
    overhead, started = peer.overhead(), time.perf_counter()
    degree = np.asarray(matrix.sum(axis=1)).reshape(-1)
    for tolerance in kind.tolerances:
        found = _measure_at(peer, truth, degree, task.patch_size, tolerance, overhead, budget)
        ours = statistics.mean(recalls[: found["sources"]])
        reached = found["recall"] >= ours - 1e-12
        if reached or time.perf_counter() - started > 2 * budget:
            break
    return {"name": name, "package": kind.package, "loops": kind.loops, "reached": reached, **found}


def measure_all_nodes(task: Task, threads: int) -> dict[str, Any]:
    """Patch all nodes of the graph; return seconds, peak memory, and the share of full rows."""
    torch.set_num_threads(threads)
    data, patcher = task.data(), task.patcher()
    n = int(data.num_nodes or 0)
    # compiled code is loaded at the first call
    patcher(data, torch.arange(1))
    _say(f"all nodes with {threads} threads")
    started = time.perf_counter()
    patches = patcher(data)
    seconds = time.perf_counter() - started
    peak = peak_gib()
    return {
        "seconds_all_nodes": seconds,
        "nodes_per_second": n / seconds,
        "peak_memory_gib": peak,
        "filled": filled_share(task.matrix(data), patches.index.numpy()),
        "certified": None if patches.certified is None else float(patches.certified.float().mean()),
    }


def _measure_at(
    peer: Peer,
    truth: Truth,
    degree: np.ndarray,
    patch_size: int,
    tolerance: float,
    overhead: float,
    budget: float,
) -> dict[str, Any]:
    seconds, ranking, recalls = 0.0, 0.0, list[float]()
    while len(recalls) < truth.sources.size and (seconds < budget or not recalls):
        sources = truth.sources[len(recalls) : len(recalls) + peer.batch]
        started = time.perf_counter()
        raw = peer.call(sources, tolerance)
        seconds += max(time.perf_counter() - started - overhead, 0.0)
        started = time.perf_counter()
        rows = [
            top_members(int(source), *vector, degree, patch_size)
            for source, vector in zip(sources, peer.read(raw, sources), strict=True)
        ]
        ranking += time.perf_counter() - started
        recalls += [truth.recall(len(recalls) + k, row) for k, row in enumerate(rows)]
    return {
        "tolerance": tolerance,
        "recall": statistics.mean(recalls),
        "seconds_per_source": seconds / len(recalls),
        "ranking_seconds_per_source": ranking / len(recalls),
        "sources": len(recalls),
    }


def _timed(work: Callable[[], Found]) -> tuple[float, Found]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def without_loops(task: Task, most: int) -> Task:
    """Return the same task on the graph without self-loops, for at most so many sources."""
    return replace(task, loops=False, num_sources=min(task.num_sources, most))


def _form(task: Task) -> str:
    return "with self-loops" if task.loops else "without self-loops"


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
