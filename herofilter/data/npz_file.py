"""Arrays from npz files whose sizes and kinds are checked before memory is taken for them."""

import tokenize
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO

import numpy as np

from herofilter.errors import DatasetError
from herofilter.memory import check_memory

_ENDING = ".npy"
_ENCRYPTED = 0x1
# no compression of zip files gets beyond this
_MOST_PACKED = 1100
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# what goes wrong in a file that isn't what it claims to be
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    RecursionError,
    OverflowError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
)


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, or those of ``names`` that it has; nothing is unpickled.

    An array must have as many bytes as its header claims, and all of them must fit into memory.
    What isn't asked for isn't read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", x=np.arange(3), y=np.ones(2))
        ...     read_arrays(Path(folder) / "a.npz", ["x", "z"])
        {'x': array([0, 1, 2])}
    """
    if not path.is_file():
        raise DatasetError(f"{path} must be an existing file; check the path")
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        found = {
            entry.filename.removesuffix(_ENDING): entry
            for entry in archive.infolist()
            if entry.filename.endswith(_ENDING)
        }
        wanted = {name: found[name] for name in found if names is None or name in names}
        for entry in wanted.values():
            _check_entry(archive, entry, size)
        check_memory(
            sum(entry.file_size for entry in wanted.values()),
            f"reading {path}",
            "use a smaller file, or a machine with more memory",
        )
        return {name: _read(archive, entry) for name, entry in wanted.items()}


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an npz file."""
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(_ENDING) for name in archive.namelist()]


def _check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> None:
    name = entry.filename
    if entry.flag_bits & _ENCRYPTED:
        raise ValueError(f"{name} is encrypted")
    if entry.compress_size > size or entry.file_size > _MOST_PACKED * max(1, entry.compress_size):
        raise ValueError(f"{name} claims {entry.file_size} bytes, more than it can have")
    with archive.open(entry) as stream:
        shape, kind = _header(stream)
        begins = stream.tell()
    count = 1
    for length in shape:
        # numbers of Python: they don't overflow
        count *= int(length)
    if any(length < 0 for length in shape) or begins + count * kind.itemsize != entry.file_size:
        raise ValueError(
            f"{name} claims {count} values of {kind.itemsize} bytes, but has other than that"
        )


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"arrays of version {version} can't be read")
    shape, _, kind = _HEADERS[version](stream)
    if kind.hasobject:
        raise ValueError("objects would have to be unpickled")
    return shape, kind


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as stream:
        array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    return array
