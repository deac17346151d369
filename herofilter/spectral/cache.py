"""Eigen-decompositions on disk: made once per matrix, checked on every reading."""

import hashlib
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from safetensors import SafetensorError

from herofilter.errors import CacheWarning
from herofilter.files import DamagedFileError, cache_folder, load_tensors, save_tensors
from herofilter.spectral.eigen import Eigenbasis, eigen_decompose, num_kept

# raise it whenever eigen_decompose returns something else for the same matrix
_VERSION = 1


def cached_eigenbasis(
    matrix: sp.csr_array, num_eigenpairs: int | None = None, folder: Path | None = None
) -> Eigenbasis:
    """Return :func:`~herofilter.spectral.eigen_decompose` of the matrix, from disk if it is there.

    A damaged file is made anew and an unwritable folder is passed over, each with a
    :class:`~herofilter.errors.CacheWarning`.

    Args:
        matrix: The symmetric normalised adjacency matrix.
        num_eigenpairs: How many eigenpairs to keep; None keeps all.
        folder: Where the files are; by default ``eigen`` in the cache folder.
    """
    place = cache_folder() / "eigen" if folder is None else folder
    path = place / f"{eigen_key(matrix, num_eigenpairs)}.safetensors"
    found = _read(path, (matrix.shape[0], num_kept(matrix.shape[0], num_eigenpairs)))
    if found is not None:
        return found
    basis = eigen_decompose(matrix, num_eigenpairs)
    try:
        save_tensors(path, {"eigenvalues": basis.eigenvalues, "vectors": basis.vectors})
    except (OSError, SafetensorError) as error:
        warnings.warn(
            f"the eigen-decomposition couldn't be kept for next time in {place} ({error}); "
            "set HEROFILTER_CACHE to a folder that can be written",
            CacheWarning,
            stacklevel=2,
        )
    return basis


def eigen_key(matrix: sp.csr_array, num_eigenpairs: int | None = None) -> str:
    """Return the name under which a decomposition is kept: a hash of the matrix's content."""
    canonical = matrix.copy()
    canonical.sum_duplicates()
    kept = num_kept(matrix.shape[0], num_eigenpairs)
    digest = hashlib.sha256(f"{_VERSION}:{matrix.shape}:{kept};".encode())
    for part, dtype in (
        (canonical.indptr, np.int64),
        (canonical.indices, np.int64),
        (canonical.data, np.float64),
    ):
        digest.update(part.astype(dtype).tobytes())
    return digest.hexdigest()


def _read(path: Path, shape: tuple[int, int]) -> Eigenbasis | None:
    try:
        if not path.exists():
            return None
        tensors, _ = load_tensors(path)
        values, vectors = tensors["eigenvalues"], tensors["vectors"]
        sound = vectors.shape == shape and values.shape == shape[1:]
        if sound and values.dtype == vectors.dtype == torch.float32:
            return Eigenbasis(values, vectors)
    except (DamagedFileError, KeyError, OSError):
        pass
    warnings.warn(
        f"the cached eigen-decomposition {path} is damaged; making it anew",
        CacheWarning,
        stacklevel=3,
    )
    return None
