"""Patches made shard by shard in other processes, from a graph that they map from disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify
from herofilter.distributed.engine import Engine
from herofilter.files import DamagedFileError, load_tensors, save_tensors
from herofilter.patchers.fast import FastPatcher, PreparedPatcher
from herofilter.patchers.forms import ABOUT, map_forms, save_forms
from herofilter.patchers.patches import Patches
from herofilter.patchers.store import PatchStore
from herofilter.patchers.store_writer import PARTS, PREPARED, Shard, ShardMaker


@dataclass(frozen=True)
class ShardJob:
    """All that a process needs to make a shard; the graph is on disk.

    Args:
        prepared: the folder of the graph's forms.
        stamp: tells this folder from an earlier one of the same path.
        patcher: the settings.
        num_nodes: of the graph.
        shard: its number.
        start, stop: its rows.
        part: the file to write.
        edges_on_disk: whether edges are read row by row and never mapped.
    """

    prepared: Path
    stamp: int
    patcher: FastPatcher
    num_nodes: int
    shard: int
    start: int
    stop: int
    part: Path
    edges_on_disk: bool = False


def make_shard(job: ShardJob) -> int:
    """Write the patches of a shard into a file of its own and return the shard's number."""
    what = (job.patcher, job.num_nodes, job.edges_on_disk)
    prepared = _prepared(job.prepared, job.stamp, *what)
    made = prepared(torch.arange(job.start, job.stop))
    tensors = {"index": made.index, "score": made.score}
    if made.certified is not None:
        tensors["certified"] = made.certified
    save_tensors(job.part, tensors)
    return job.shard


def shards_by(engine: Engine, edges_on_disk: bool = False) -> ShardMaker:
    """Return what makes shards for :func:`~herofilter.patchers.write_patches` by an engine.

    The graph is prepared once, by the caller, in a folder beside the patches. Shards that are there
    from an earlier try aren't made again.

    Args:
        engine: runs the jobs.
        edges_on_disk: whether jobs read edges row by row instead of mapping them; see
            :func:`~herofilter.patchers.forms.map_forms`.

    Example:
        >>> import tempfile
        >>> from functools import partial
        >>> from herofilter import csbm, write_patches
        >>> from herofilter.parallel.processes import run_jobs
        >>> make = shards_by(partial(run_jobs, workers=1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = write_patches(FastPatcher(8), csbm(num_nodes=100), folder, make=make)
        ...     store.patches().patch_size
        8
    """

    def make(
        patcher: FastPatcher,
        data: Data,
        store: PatchStore,
        shards: Sequence[int],
        callback: Callback | None,
    ) -> Iterator[Shard]:
        folder, n = store.path.resolve(), int(data.num_nodes or 0)
        done = n - sum(store.num_rows(shard) for shard in shards)
        notify(callback, "rows", done, n)
        if not (folder / PREPARED / ABOUT).exists():
            save_forms(patcher.forms(data), folder / PREPARED)
        stamp = (folder / PREPARED / ABOUT).stat().st_mtime_ns
        jobs = []
        for shard in shards:
            rows = store.rows(shard)
            part = folder / PARTS / f"{shard}.safetensors"
            what = (shard, rows.start, rows.stop, part, edges_on_disk)
            jobs.append(ShardJob(folder / PREPARED, stamp, patcher, n, *what))
        parts = {job.shard: job.part for job in jobs}
        for shard in _finished_first(engine, jobs):
            patches = _read_part(parts[shard], n)
            yield shard, patches
            parts[shard].unlink()
            done += patches.num_rows
            notify(callback, "rows", done, n)

    return make


def _finished_first(engine: Engine, jobs: Sequence[ShardJob]) -> Iterator[int]:
    missing = []
    for job in jobs:
        if _is_sound(job):
            yield job.shard
        else:
            missing.append(job)
    yield from engine(make_shard, missing)


def _is_sound(job: ShardJob) -> bool:
    try:
        return job.part.exists() and bool(_read_part(job.part, job.num_nodes))
    except DamagedFileError:
        return False


def _read_part(part: Path, num_nodes: int) -> Patches:
    tensors, _ = load_tensors(part)
    certified = tensors.get("certified")
    return Patches(tensors["index"], tensors["score"], num_nodes=num_nodes, certified=certified)


@lru_cache(maxsize=1)
def _prepared(
    folder: Path, stamp: int, patcher: FastPatcher, num_nodes: int, edges_on_disk: bool
) -> PreparedPatcher:
    return patcher.on_forms(num_nodes, map_forms(folder, edges_on_disk))
