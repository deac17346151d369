"""Edges that stay in files and are read row by row, for graphs that may not even be mapped."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import config, types

from herofilter.jit import compiled

EDGE_ARRAYS = ("indices", "ends", "weights")


class EdgeFiles(NamedTuple):
    """Open files of edge arrays, and room for the longest row; of one thread.

    ``descriptors`` and ``begins`` say for indices, ends and weights which file it is and at which
    byte its values begin. Weights that are all equal are in no file: their descriptor is -1.
    """

    descriptors: np.ndarray
    begins: np.ndarray
    indices: np.ndarray
    ends: np.ndarray
    weights: np.ndarray


def open_edges(files: Mapping[str, Path], most: int, weights: np.ndarray) -> EdgeFiles:
    """Return the edge arrays in ``.npy`` files, opened for rows of at most ``most`` edges.

    Without a file of weights they are ``weights``, one value in the place of many.
    """
    descriptors, begins, rooms = [-1] * 3, [0] * 3, [weights] * 3
    for position, name in enumerate(EDGE_ARRAYS):
        if name in files:
            _, kind, begins[position] = array_header(files[name])
            descriptors[position] = os.open(files[name], os.O_RDONLY)
            rooms[position] = np.empty(most, kind)
    return EdgeFiles(np.array(descriptors, np.int32), np.array(begins, np.int64), *rooms)


def array_header(path: Path) -> tuple[tuple[int, ...], np.dtype, int]:
    """Return shape and type of the array in an ``.npy`` file, and the byte where it begins."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        return shape, kind, file.tell()


def close_edges(edges: EdgeFiles) -> None:
    """Close the files."""
    for descriptor in edges.descriptors.tolist():
        if descriptor >= 0:
            os.close(descriptor)


_pread = types.ExternalFunction(
    "pread", types.int64(types.int32, types.voidptr, types.uint64, types.int64)
)


@compiled(nogil=True)
def _compiled_read(descriptor: Any, room: Any, count: Any, begin: Any, first: Any) -> bool:
    wanted = np.int64(count) * room.itemsize
    at = begin + np.int64(first) * room.itemsize
    return bool(_pread(descriptor, room.ctypes, np.uint64(wanted), at) == wanted)


def _plain_read(descriptor: Any, room: Any, count: Any, begin: Any, first: Any) -> bool:
    wanted = int(count) * room.itemsize
    at = int(begin) + int(first) * room.itemsize
    read = os.preadv(int(descriptor), [memoryview(room).cast("B")[:wanted]], at)
    return bool(read == wanted)


_read = _plain_read if config.DISABLE_JIT else _compiled_read


@compiled(nogil=True)
def read_row(edges: Any, first: Any, count: Any) -> bool:
    """Read ``count`` edges from the first one on; return whether all of them were there."""
    files, begins, sound = edges.descriptors, edges.begins, True
    sound &= _read(files[0], edges.indices, count, begins[0], first)
    sound &= _read(files[1], edges.ends, count, begins[1], first)
    if files[2] >= 0:
        sound &= _read(files[2], edges.weights, count, begins[2], first)
    return sound
