"""Patches on disk, read through the page cache."""

import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from herofilter.files import DamagedFileError, read_json
from herofilter.patchers.patches import Patches, Slot

HEADER, JOURNAL = "store.json", "shards.jsonl"


@dataclass(frozen=True)
class PatchStore:
    """A folder of patches: two plain arrays, their description, and a journal of shards.

    A shard counts once its line is in the journal, which is written after its rows are on disk;
    the line holds their checksum. Rows are read through the page cache, so that an index larger
    than memory can be used.

    Args:
        path: the folder.
        header: what the patches are: sizes, slots, settings, the graph's fingerprint.
    """

    path: Path
    header: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path) -> "PatchStore":
        """Open a folder that :func:`write_patches` made or began."""
        path = Path(path)
        try:
            header = read_json(path / HEADER)
            store = cls(path, header)
            for name, kind in store.arrays.items():
                size = array_bytes(*kind)
                if (path / name).stat().st_size != size:
                    raise ValueError(f"{name} must have {size} bytes")
            if not isinstance(header["settings"], dict) or int(header["shard_rows"]) < 1:
                raise ValueError(f"{HEADER} must have settings, and rows per shard")
            list(store.slots)
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise DamagedFileError(
                f"{path} must be a folder of patches ({str(error).partition(chr(10))[0]}); "
                "make it with `herofilter patch`"
            ) from error
        return store

    @property
    def arrays(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Type and shape of each file."""
        n, p = int(self.header["num_nodes"]), int(self.header["patch_size"])
        return {
            "index.bin": ("<i4" if n < 2**31 else "<i8", (n, p)),
            "score.bin": ("<f4", (n, p)),
            "certified.bin": ("|u1", (n,)),
        }

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The named column ranges."""
        return tuple(Slot(str(name), int(a), int(b)) for name, a, b in self.header["slots"])

    @property
    def num_shards(self) -> int:
        """How many shards there are when all are finished."""
        return -(-int(self.header["num_nodes"]) // int(self.header["shard_rows"]))

    def rows(self, shard: int) -> slice:
        """Return the rows of a shard."""
        size = int(self.header["shard_rows"])
        return slice(shard * size, min((shard + 1) * size, int(self.header["num_nodes"])))

    def num_rows(self, shard: int) -> int:
        """Return how many rows a shard has."""
        rows = self.rows(shard)
        return int(rows.stop - rows.start)

    def map(self, mode: str) -> list[np.ndarray]:
        """Return index, score and certified as memory maps."""
        return [
            np.memmap(self.path / name, dtype=kind, shape=shape, mode=mode)  # type: ignore[call-overload]
            for name, (kind, shape) in self.arrays.items()
        ]

    def finished(self) -> dict[int, dict[str, Any]]:
        """Return the journal's line of each finished shard; a line cut off by a kill is none."""
        found = {}
        journal = self.path / JOURNAL
        for line in journal.read_bytes().splitlines() if journal.is_file() else ():
            try:
                entry = json.loads(line)
                shard, _ = int(entry["shard"]), int(entry["crc32"])
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue
            if 0 <= shard < self.num_shards:
                found[shard] = entry
        return found

    def sound(self) -> dict[int, dict[str, Any]]:
        """Return the finished shards whose rows still have their checksum."""
        maps = self.map("r")
        return {
            shard: entry
            for shard, entry in self.finished().items()
            if checksum(maps, self.rows(shard)) == entry["crc32"]
        }

    def patches(self) -> Patches:
        """Return the patches of all nodes; their arrays stay on disk until rows are read."""
        missing = self.num_shards - len(self.finished())
        if missing:
            raise DamagedFileError(
                f"{self.path} must be finished before it is used (shards missing: {missing}); "
                "run the command that makes it again, it continues"
            )
        # copy-on-write: torch wants writable arrays, and nothing reaches the files
        index, score, certified = (torch.from_numpy(array) for array in self.map("c"))
        asked = bool(self.header["settings"].get("refine"))
        return Patches(
            index,
            score,
            slots=self.slots,
            num_nodes=int(self.header["num_nodes"]),
            certified=certified.bool() if asked else None,
        )


def array_bytes(kind: str, shape: tuple[int, ...]) -> int:
    """Return the bytes of an array.

    Example:
        >>> array_bytes("<i4", (3, 2))
        24
    """
    return np.dtype(kind).itemsize * math.prod(shape)


def checksum(maps: list[np.ndarray], rows: slice) -> int:
    """Return the CRC-32 of some rows of all arrays."""
    value = 0
    for array in maps:
        value = zlib.crc32(np.ascontiguousarray(array[rows]).data, value)
    return value
