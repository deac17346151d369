"""Node features that stay in a file: only the rows that are asked for are read."""

import mmap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from herofilter.data.features import csr_tensor, row_normalise, standardise
from herofilter.errors import GraphError
from herofilter.files import DamagedFileError

DENSE, SPARSE = ("x",), ("x_crow", "x_col", "x_value")
CHUNK_BYTES = 2**22
# the kernel counts mapped pages as memory of this process until they are released, and maps the
# pages around each one that is read
MAPPED_BYTES, TOUCHED_BYTES = 2**28, 2**16


class DiskFeatures(Tensor):
    """A matrix ``[n, f]`` of features in ``.npy`` files, read row by row.

    It is a float32 tensor to whoever asks for its shape. :meth:`rows` reads some rows: from
    float16 they become float32, and they are scaled when they are read. Every other
    operation reads the complete matrix into memory first, so that every model gives right results.

    Attributes:
        folder: where ``x.npy`` lies, or ``x_crow.npy``, ``x_col.npy`` and ``x_value.npy``.
        shape: ``(n, f)``.
        sparse: whether the rows are compressed (CSR).
        num_nonzero: how many entries aren't zero.
        packed: whether compressed rows are dense again when the complete matrix is read.
        scalings: how many times rows are scaled, see :meth:`scaled`.
        columns: mean and scale of each column, see :meth:`standardised`.

    Shapes:
        - rows: ``[b, f]``, dense or CSR as in the files; dense if standardised
    """

    folder: Path
    sparse: bool
    num_nonzero: int
    packed: bool
    scalings: int
    columns: tuple[Tensor, Tensor] | None
    parts: tuple[Tensor, ...]
    _maps: list[mmap.mmap]
    _mapped: int

    @staticmethod
    def __new__(
        cls,
        folder: str | Path,
        shape: tuple[int, int],
        sparse: bool,
        num_nonzero: int,
        packed: bool = False,
        scalings: int = 0,
        columns: tuple[Tensor, Tensor] | None = None,
    ) -> "DiskFeatures":
        # one value in memory in place of all; code that reads it past dispatch gets no number
        made = torch.full((1, 1), torch.nan).expand(shape).as_subclass(DiskFeatures)
        made.folder, made.sparse, made.num_nonzero = Path(folder), sparse, num_nonzero
        made.packed, made.scalings, made.columns, made._mapped = packed, scalings, columns, 0
        arrays = [map_array(made.folder / f"{name}.npy") for name in (SPARSE if sparse else DENSE)]
        made._maps = [found for array in arrays if (found := _map_of(array)) is not None]
        made.parts = tuple(_tensor(array) for array in arrays)
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def rows(self, nodes: Tensor) -> Tensor:
        """Return the rows of ``nodes``, float32 and scaled: ``[b, f]``."""
        if self.sparse and self.columns is None:
            return self._read(nodes)
        # chunk by chunk: only the result is in memory as a matrix
        found = torch.empty(nodes.numel(), self.size(1))
        first = 0
        for part in torch.split(nodes, self._at_once):
            found[first : first + part.numel()] = self._read(part)
            first += part.numel()
        return found

    def chunks(self) -> Iterator[Tensor]:
        """Yield all rows in order, some at a time."""
        for first in range(0, self.size(0), self._at_once):
            yield self.rows(torch.arange(first, min(first + self._at_once, self.size(0))))

    def whole(self) -> Tensor:
        """Return all rows in memory, in the layout that they had before they were written."""
        found = self.rows(torch.arange(self.size(0)))
        return found.to_dense() if self.sparse and self.packed else found

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """Return all rows in memory as a dense array."""
        return _dense(self).numpy(force=force)

    def scaled(self) -> "DiskFeatures":
        """Return features whose rows add up to one, each at the time when it is read."""
        return DiskFeatures(*self._files(), self.scalings + 1, self.columns)

    def standardised(self, mean: Tensor, scale: Tensor) -> "DiskFeatures":
        """Return features of which each row is standardised at the time when it is read."""
        return DiskFeatures(*self._files(), self.scalings, (mean, scale))

    @property
    def num_bytes(self) -> int:
        """What the matrix would take in memory."""
        if self.sparse and self.columns is None:
            return 8 * (self.size(0) + 1) + 12 * self.parts[2].numel()
        return 4 * self.numel()

    @property
    def _at_once(self) -> int:
        row = 4 * max(1, self.size(1))
        return max(1, min(CHUNK_BYTES // row, MAPPED_BYTES // max(TOUCHED_BYTES, row)))

    def _read(self, nodes: Tensor) -> Tensor:
        if self.sparse:
            found = self._compressed(nodes)
        else:
            found = self.parts[0].index_select(0, nodes).to(torch.float32)
        self._release(nodes.numel())
        for _ in range(self.scalings):
            found = row_normalise(found)
        return found if self.columns is None else standardise(found, *self.columns)

    def _compressed(self, nodes: Tensor) -> Tensor:
        start, col, value = self.parts
        first = start.index_select(0, nodes)
        length = start.index_select(0, nodes + 1) - first
        crow = torch.cat([length.new_zeros(1), length.cumsum(0)])
        # position of every entry: its row's start plus its offset within the row
        entry = torch.arange(int(crow[-1])) + (first - crow[:-1]).repeat_interleave(length)
        columns = col.index_select(0, entry).long()
        if columns.numel() and not 0 <= int(columns.min()) <= int(columns.max()) < self.size(1):
            raise DamagedFileError(
                f"{self.folder / SPARSE[1]}.npy must have columns from 0 to {self.size(1) - 1} "
                f"(got {int(columns.min())} to {int(columns.max())}); copy the folder again or "
                "pack the graph anew"
            )
        values = value.index_select(0, entry).to(torch.float32)
        return csr_tensor(crow, columns, values, (nodes.numel(), self.size(1)))

    def _release(self, count: int) -> None:
        self._mapped += count * max(TOUCHED_BYTES, 4 * self.size(1))
        if self._mapped >= MAPPED_BYTES:
            self._mapped = 0
            for part in self._maps:
                part.madvise(mmap.MADV_DONTNEED)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in _SAME:
            return args[0]
        kwargs = kwargs or {}
        if _written(func, args, kwargs):
            raise _refusal()
        counts = func is torch.ops.aten.count_nonzero.default and len(args) == 1
        if counts and args[0].columns is None:
            return torch.tensor(args[0].num_nonzero)
        return func(*_in_memory(args), **_in_memory(kwargs))

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        # another process maps the files for itself
        return DiskFeatures, (*self._files(), self.scalings, self.columns)

    def _files(self) -> tuple[Path, tuple[int, int], bool, int, bool]:
        shape = (self.size(0), self.size(1))
        return self.folder, shape, self.sparse, self.num_nonzero, self.packed

    def __setitem__(self, *_: Any) -> None:
        # its rows are copies, so a write would be lost
        raise _refusal()

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"DiskFeatures({self.folder}, {tuple(self.shape)})"


_SAME = (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default)


def map_array(path: Path) -> np.ndarray:
    """Return an array that stays in its file; nothing in the file is unpickled."""
    array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    found = _map_of(array)
    if found is not None:
        # rows are read in random order, so reading further than asked for is of no use
        found.madvise(mmap.MADV_RANDOM)
    return array


def _map_of(array: np.ndarray) -> mmap.mmap | None:
    base: Any = array.base
    return base if isinstance(base, mmap.mmap) else None


def _refusal() -> GraphError:
    return GraphError(
        "features on disk must stay as they are (got an operation that writes to them); "
        "work on a copy in memory: data.x.whole()"
    )


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an operation would write to features: in place, or as its ``out``."""
    name, _, overload = func.name().partition(".")
    if name.endswith("_") and isinstance(args[0], DiskFeatures):
        return True
    return "out" in overload and any(isinstance(each, DiskFeatures) for each in kwargs.values())


def _in_memory(value: Any) -> Any:
    """Return arguments of an operation with the complete matrix in place of features on disk."""
    if isinstance(value, DiskFeatures):
        return _dense(value)
    if isinstance(value, (tuple, list)):
        return type(value)(map(_in_memory, value))
    if isinstance(value, dict):
        return {name: _in_memory(entry) for name, entry in value.items()}
    return value


def _dense(x: DiskFeatures) -> Tensor:
    matrix = x.whole()
    # its layout says strided, so the result must be
    return matrix.to_dense() if matrix.layout == torch.sparse_csr else matrix


def _tensor(array: np.ndarray) -> Tensor:
    with warnings.catch_warnings():
        # nothing here writes to it
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(np.asarray(array))
