"""Decompositions on disk: computed once per matrix, verified whenever they are read."""

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
import torch

from herofilter.errors import CacheWarning
from herofilter.files import (
    DamagedFileError,
    cache_folder,
    load_tensors,
    save_tensors,
    warn_unkept,
)
from herofilter.scratch import remove_strays
from herofilter.spectral.eigen import Eigenbasis, eigen_decompose, num_kept
from herofilter.spectral.singular import SingularBasis, singular_decompose

# to be raised whenever the decomposition returns something else for the same matrix
_VERSION = 1
_SINGULAR_VERSION = 1

Basis = TypeVar("Basis", Eigenbasis, SingularBasis)


def cached_eigenbasis(
    matrix: sp.csr_array, num_eigenpairs: int | None = None, folder: Path | None = None
) -> Eigenbasis:
    """Return :func:`~herofilter.spectral.eigen_decompose` of the matrix, from disk if it is there.

    A damaged file is computed again and an unwritable folder is ignored, each with a
    :class:`~herofilter.errors.CacheWarning`.

    Args:
        matrix: The symmetric normalised adjacency matrix.
        num_eigenpairs: How many eigenpairs to keep; None keeps all.
        folder: Where the files are; by default ``eigen`` in the cache folder.
    """
    order, kept = matrix.shape[0], num_kept(matrix.shape[0], num_eigenpairs)
    return _cached(
        _folder("eigen", folder) / f"{eigen_key(matrix, num_eigenpairs)}.safetensors",
        "eigen-decomposition",
        Eigenbasis,
        lambda basis: basis.vectors.shape == (order, kept) and basis.eigenvalues.shape == (kept,),
        lambda: eigen_decompose(matrix, num_eigenpairs),
    )


def cached_singular_basis(
    matrix: sp.csr_array, num_pairs: int | None = None, folder: Path | None = None
) -> SingularBasis:
    """Return :func:`~herofilter.spectral.singular_decompose` of the matrix, from disk if it is
    there.

    Files are treated as those of :func:`cached_eigenbasis`.

    Args:
        matrix: The normalised adjacency matrix, with directions.
        num_pairs: How many of the largest singular values to keep; None keeps all.
        folder: Where the files are; by default ``singular`` in the cache folder.
    """
    order, kept = matrix.shape[0], num_kept(matrix.shape[0], num_pairs)
    key = _content_key(f"singular:{_SINGULAR_VERSION}", matrix, kept)

    def fits(basis: SingularBasis) -> bool:
        # values near zero are left out, so their count is known only afterwards
        shape = (order, min(kept, basis.values.numel()))
        return basis.left.shape == basis.right.shape == shape and basis.values.dim() == 1

    return _cached(
        _folder("singular", folder) / f"{key}.safetensors",
        "singular-value decomposition",
        SingularBasis,
        fits,
        lambda: singular_decompose(matrix, num_pairs),
    )


def eigen_key(matrix: sp.csr_array, num_eigenpairs: int | None = None) -> str:
    """Return the name of a decomposition's file: a hash of the matrix's content."""
    return _content_key(str(_VERSION), matrix, num_kept(matrix.shape[0], num_eigenpairs))


def _content_key(version: str, matrix: sp.csr_array, kept: int) -> str:
    canonical = matrix.copy()
    canonical.sum_duplicates()
    digest = hashlib.sha256(f"{version}:{matrix.shape}:{kept};".encode())
    for part, dtype in (
        (canonical.indptr, np.int64),
        (canonical.indices, np.int64),
        (canonical.data, np.float64),
    ):
        digest.update(part.astype(dtype).tobytes())
    return digest.hexdigest()


def _folder(name: str, folder: Path | None) -> Path:
    return cache_folder() / name if folder is None else folder


def _cached(
    path: Path,
    work: str,
    kind: type[Basis],
    fits: Callable[[Basis], bool],
    make: Callable[[], Basis],
) -> Basis:
    found = _read(path, work, kind, fits)
    if found is not None:
        return found
    basis = make()
    try:
        save_tensors(path, vars(basis))
    except OSError as error:
        warn_unkept(error)
    return basis


def _read(path: Path, work: str, kind: type[Basis], fits: Callable[[Basis], bool]) -> Basis | None:
    # one that was killed after its last write leaves a folder that no later write would remove
    remove_strays(path.parent)
    try:
        if not path.exists():
            return None
        tensors, _ = load_tensors(path)
        basis = kind(**{field.name: tensors[field.name] for field in fields(kind)})
        if fits(basis) and all(part.dtype == torch.float32 for part in vars(basis).values()):
            return basis
    except (DamagedFileError, KeyError, OSError):
        pass
    warnings.warn(
        f"the cached {work} {path} is damaged; computing it again",
        CacheWarning,
        stacklevel=4,
    )
    return None
