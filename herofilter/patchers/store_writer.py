"""Patches written to a folder shard by shard, resumable after an interruption at any point."""

import dataclasses
import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback, part_of
from herofilter.errors import CacheWarning, RunError
from herofilter.files import cache_folder, locked, write_json
from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.patches import Patches
from herofilter.patchers.store import HEADER, JOURNAL, PatchStore, checksum

SHARD_ROWS = 65536
STORED_FROM = 50_000
# raise it whenever a patcher gives something else for the same graph and settings
VERSION = 1


def write_patches(
    patcher: FastPatcher,
    data: Data,
    path: str | Path,
    callback: Callback | None = None,
    shard_rows: int = SHARD_ROWS,
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

    Example:
        >>> import tempfile
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_patches(FastPatcher(patch_size=2), path, folder).patches().index.tolist()
        [[0, 1], [1, 0], [2, 3], [3, 2]]
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    n = int(data.num_nodes or 0)
    with locked(path / "lock"):
        store = _begin(path, _header(patcher, data, shard_rows))
        done = store.sound()
        wanted = [shard for shard in range(store.num_shards) if shard not in done]
        if not wanted:
            return store
        prepared = patcher.prepare(data)
        maps = store.map("r+")
        before = n - sum(store.rows(shard).stop - store.rows(shard).start for shard in wanted)
        for shard in wanted:
            rows = store.rows(shard)
            count = rows.stop - rows.start
            made = prepared(
                torch.arange(rows.start, rows.stop), part_of(callback, before, count, n)
            )
            maps[0][rows], maps[1][rows] = made.index.numpy(), made.score.numpy()
            maps[2][rows] = 0 if made.certified is None else made.certified.numpy()
            for array in maps:
                array.flush()  # type: ignore[attr-defined]
            _write_journal(store, shard, checksum(maps, rows))
            before += count
    return store


def stored_patches(patcher: FastPatcher, data: Data, callback: Callback | None = None) -> Patches:
    """Return a large graph's patches from the cache folder, after writing them if they are missing.

    A folder that can't be written is skipped, with a :class:`CacheWarning`.
    """
    folder = cache_folder() / "patches" / _key(_header(patcher, data, SHARD_ROWS))
    try:
        return write_patches(patcher, data, folder, callback).patches()
    except OSError as error:
        warnings.warn(
            f"the patches couldn't be kept for next time in {folder} ({error}); "
            "set HEROFILTER_CACHE to a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )
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
    others = [entry.name for entry in path.iterdir() if entry.name not in _STORE_FILES]
    if others:
        raise RunError(
            f"the folder of patches must be new, empty or one to continue (got {path}, "
            f"with {others[0]!r} in it); give another folder"
        )
    store = PatchStore(path, header)
    (path / JOURNAL).unlink(missing_ok=True)
    for name, (kind, shape) in store.arrays.items():
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        with (path / name).open("wb") as file:
            file.truncate(size)
            if size and hasattr(os, "posix_fallocate"):
                # a full disk is an error here, but would end the process while writing a memory map
                os.posix_fallocate(file.fileno(), 0, size)
    # last: with the header there, the files are there
    write_json(path / HEADER, header)
    return store


_STORE_FILES = {"lock", JOURNAL, "index.bin", "score.bin", "certified.bin"}


def _write_journal(store: PatchStore, shard: int, crc: int) -> None:
    # a line that a kill cut off has no newline; the next one must start with one
    line = "\n" + json.dumps({"shard": shard, "crc32": crc}) + "\n"
    with (store.path / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
