"""Patches written to a folder shard by shard, resumable after an interruption at any point."""

import dataclasses
import errno
import hashlib
import json
import math
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback, part_of
from herofilter.errors import CacheWarning, RunError
from herofilter.files import DamagedFileError, cache_folder, warn_unkept, write_json
from herofilter.folders import entries, locked_folder
from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Patches
from herofilter.patchers.store import HEADER, JOURNAL, PatchStore, array_bytes, checksum

# the most that a kill loses per process, and enough of them to share out
SHARD_ROWS = 8192
STORED_FROM = 50_000
# raise it whenever a patcher gives something else for the same graph and settings
VERSION = 1
# the folders of an engine that makes shards in other processes
PREPARED, PARTS = "prepared", "parts"

Shard = tuple[int, Patches]
ShardMaker = Callable[
    [FastPatcher, Data, PatchStore, Sequence[int], Callback | None], Iterator[Shard]
]
"""Yields each of some shards of a store with its patches, in any order, and reports progress."""


def write_patches(
    patcher: FastPatcher,
    data: Data,
    path: str | Path,
    callback: Callback | None = None,
    shard_rows: int = SHARD_ROWS,
    make: ShardMaker | None = None,
) -> PatchStore:
    """Write the patches of all nodes to a folder, or continue what is there.

    Finished shards whose checksum fails are made again. The result is the same to the byte
    however often it was interrupted.

    Args:
        patcher: the fast patcher.
        data: the graph.
        path: the folder; made when absent.
        callback: takes events of stage ``rows``: rows done and rows in all.
        shard_rows: rows that are written at once.
        make: who computes the shards; by default the threads of this process.

    Example:
        >>> import tempfile
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_patches(FastPatcher(patch_size=2), path, folder).patches().index.tolist()
        [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    path = Path(path)
    # before a byte is written
    patcher.check(data)
    with locked_folder(path, wait=math.inf):
        store = _begin(path, _header(patcher, data, shard_rows))
        done = store.sound()
        wanted = [shard for shard in range(store.num_shards) if shard not in done]
        maps = store.map("r+") if wanted else []
        found = (make or _make_here)(patcher, data, store, wanted, callback) if wanted else ()
        for shard, made in found:
            rows = store.rows(shard)
            maps[0][rows], maps[1][rows] = made.index.numpy(), made.score.numpy()
            maps[2][rows] = 0 if made.certified is None else made.certified.numpy()
            for array in maps:
                array.flush()  # type: ignore[attr-defined]
            _write_journal(store, shard, checksum(maps, rows))
    for folder in (PREPARED, PARTS):
        shutil.rmtree(path / folder, ignore_errors=True)
    return store


def _make_here(
    patcher: FastPatcher,
    data: Data,
    store: PatchStore,
    shards: Sequence[int],
    callback: Callback | None,
) -> Iterator[Shard]:
    prepared, n = patcher.prepare(data), int(data.num_nodes or 0)
    before = n - sum(store.num_rows(shard) for shard in shards)
    for shard in shards:
        rows, count = store.rows(shard), store.num_rows(shard)
        share = part_of(callback, before, count, n)
        yield shard, prepared(torch.arange(rows.start, rows.stop), share)
        before += count


def check_patches(store: PatchStore, patcher: FastPatcher, data: Data) -> None:
    """Raise a :class:`RunError` unless a folder holds what a patcher gives for a graph."""
    found, wanted = store.header, _header(patcher, data, SHARD_ROWS)
    if any(found.get(key) != wanted[key] for key in ("num_nodes", "graph")):
        raise RunError(
            f"{store.path} must hold patches of this graph, with {wanted['num_nodes']} nodes (got "
            f"those of another graph, with {found['num_nodes']} nodes); "
            "make some with: herofilter patch GRAPH --out FOLDER"
        )
    # the margin is no setting of a training
    other = {
        key: (found["settings"].get(key), value)
        for key, value in wanted["settings"].items()
        if key != "margin" and found["settings"].get(key) != value
    }
    if other or found.get("version") != VERSION:
        there = " ".join(f"--set {key}={_text(value)}" for key, (value, _) in other.items())
        here = ", ".join(f"{key}={_text(value)}" for key, (_, value) in other.items())
        raise RunError(
            f"{store.path} must hold patches made with {here or 'this version'} (got others); "
            + (f"train with {there}, or make the patches anew" if other else "make them anew")
        )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def stored_patches(patcher: FastPatcher, data: Data, callback: Callback | None = None) -> Patches:
    """Return a large graph's patches from the cache folder, after writing them if they are missing.

    Damaged ones are made anew, and a folder that can't be written is skipped, with a
    :class:`CacheWarning` each.
    """
    folder = cache_folder() / "patches" / _key(_header(patcher, data, SHARD_ROWS))
    try:
        try:
            return write_patches(patcher, data, folder, callback).patches()
        except (DamagedFileError, RunError):
            warnings.warn(
                f"the patches in {folder} were damaged and are made anew",
                CacheWarning,
                stacklevel=2,
            )
            shutil.rmtree(folder)
            return write_patches(patcher, data, folder, callback).patches()
    except OSError as error:
        warn_unkept(error)
        return patcher(data, callback=callback)


def _edge_hash(data: Data) -> str:
    """Return a hash of all that patches depend on: nodes, edges, weights, in their order."""
    digest = hashlib.blake2b(f"{int(data.num_nodes or 0)};".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(data.edge_index.numpy()).data)
    if data.get("edge_weight") is not None:
        digest.update(np.ascontiguousarray(data.edge_weight.numpy()).data)
    return digest.hexdigest()


def _header(patcher: FastPatcher, data: Data, shard_rows: int) -> dict[str, Any]:
    settings = dataclasses.asdict(patcher)
    return {
        "version": VERSION,
        "num_nodes": int(data.num_nodes or 0),
        "patch_size": patcher.patch_size,
        "slots": [list(slot) for slot in patcher.all_slots()],
        "settings": {
            **settings,
            "relations": list(patcher.relations),
            "filters": [list(one) for one in patcher.filters],
        },
        "graph": _edge_hash(data),
        "shard_rows": shard_rows,
    }


def _key(header: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16).hexdigest()


def _begin(path: Path, header: dict[str, Any]) -> PatchStore:
    if (path / HEADER).exists():
        store = PatchStore.open(path)
        if store.header != header:
            raise RunError(
                f"{path} must hold patches of the same graph with the same settings to be "
                "continued, but it holds others; give another folder"
            )
        return store
    others = [entry.name for entry in entries(path) if entry.name not in _STORE_FILES]
    if others:
        raise RunError(
            f"the folder of patches must be new, empty or one to continue (got {path}, "
            f"with {others[0]!r} in it); give another folder"
        )
    store = PatchStore(path, header)
    (path / JOURNAL).unlink(missing_ok=True)
    sizes = {name: array_bytes(kind, shape) for name, (kind, shape) in store.arrays.items()}
    try:
        if sum(sizes.values()) > shutil.disk_usage(path).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        for name, size in sizes.items():
            with (path / name).open("wb") as file:
                file.truncate(size)
                if size and hasattr(os, "posix_fallocate"):
                    # a full disk is an error here, but would end the process in a memory map
                    os.posix_fallocate(file.fileno(), 0, size)
        # last: with the header there, the files are there
        write_json(path / HEADER, header)
    except OSError:
        for name in sizes:
            (path / name).unlink(missing_ok=True)
        raise
    return store


_STORE_FILES = {"lock", PREPARED, PARTS, JOURNAL, "index.bin", "score.bin", "certified.bin"}


def _write_journal(store: PatchStore, shard: int, crc: int) -> None:
    # a line that a kill cut off has no newline; the next one must start with one
    line = "\n" + json.dumps({"shard": shard, "crc32": crc}) + "\n"
    with (store.path / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
