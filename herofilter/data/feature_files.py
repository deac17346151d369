"""Features written to files chunk by chunk, checked on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from herofilter.callbacks import Callback, notify
from herofilter.data.disk_features import CHUNK_BYTES, DiskFeatures
from herofilter.data.features import SPARSE_BELOW, to_sparse
from herofilter.errors import GraphError


def write_features(
    folder: Path, x: Tensor, half: bool = False, callback: Callback | None = None
) -> dict[str, object]:
    """Write ``x`` as ``x.npy``, or as three compressed arrays when it is mostly zero.

    Args:
        folder: an existing folder.
        x: ``[n, f]``, dense, CSR, or on disk already.
        half: whether values become float16.
        callback: takes events of stage ``rows``.

    Returns:
        ``sparse``, ``num_nonzero`` and ``packed``, as :class:`DiskFeatures` wants them.
    """
    nonzero = sum(_check(part, half) for part in row_chunks(x))
    given = x.layout == torch.sparse_csr
    if isinstance(x, DiskFeatures):
        given = x.sparse and not x.packed
    sparse = given or nonzero < SPARSE_BELOW * x.numel()
    write = _write_sparse if sparse else _write_dense
    write(folder, x, np.dtype(np.float16 if half else np.float32), callback)
    return {"sparse": sparse, "num_nonzero": nonzero, "packed": sparse and not given}


def row_chunks(x: Tensor) -> Iterator[Tensor]:
    """Yield the rows of ``x`` in order, some at a time, dense or CSR as they are."""
    if isinstance(x, DiskFeatures):
        yield from x.chunks()
        return
    if x.layout == torch.sparse_csr:
        # what isn't stored takes no memory
        yield x
        return
    yield from torch.split(x, max(1, CHUNK_BYTES // (4 * max(1, x.size(1)))))


def open_array(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> BinaryIO:
    """Return a stream at the position where the values of a new ``.npy`` file begin."""
    stream = path.open("wb")
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, about)
    return stream


def _check(part: Tensor, half: bool) -> int:
    """Return the number of nonzero entries; raise unless all entries are finite."""
    values = part.values() if part.layout == torch.sparse_csr else part
    bad = int((~torch.isfinite(values)).sum())
    if bad:
        raise GraphError(
            f"x must be finite (got {bad} values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)"
        )
    if half and values.numel() and float(values.abs().max()) > torch.finfo(torch.float16).max:
        raise GraphError(
            f"x must lie within ±65504 to be kept in half precision (got {values.abs().max():g}); "
            "scale the features or leave --half out"
        )
    return int(torch.count_nonzero(values))


def _write_dense(folder: Path, x: Tensor, dtype: np.dtype, callback: Callback | None) -> None:
    done = 0
    with open_array(folder / "x.npy", dtype, (x.size(0), x.size(1))) as stream:
        for part in row_chunks(x):
            stream.write(part.contiguous().numpy().astype(dtype, copy=False).data)
            done += part.size(0)
            notify(callback, "rows", done, x.size(0))


def _write_sparse(folder: Path, x: Tensor, dtype: np.dtype, callback: Callback | None) -> None:
    # how many entries a row has is known only once it was read
    counts = torch.zeros(x.size(0) + 1, dtype=torch.long)
    done = 0
    for part in map(to_sparse, row_chunks(x)):
        counts[done + 1 : done + 1 + part.size(0)] = part.crow_indices().diff()
        done += part.size(0)
    np.save(folder / "x_crow.npy", counts.cumsum(0).numpy())
    entries, done = (int(counts.sum()),), 0
    with (
        open_array(folder / "x_col.npy", np.dtype(np.int32), entries) as cols,
        open_array(folder / "x_value.npy", dtype, entries) as values,
    ):
        for part in map(to_sparse, row_chunks(x)):
            cols.write(part.col_indices().numpy().astype(np.int32).data)
            values.write(part.values().numpy().astype(dtype, copy=False).data)
            done += part.size(0)
            notify(callback, "rows", done, x.size(0))
