"""A short text that tells one graph from another."""

import hashlib

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import DiskFeatures

BLOCKS = 1024
BLOCK = 8192


def fingerprint(data: Data) -> str:
    """Return a hash of all that a graph holds: edges, features, labels, masks, remarks.

    Arrays of more than ``BLOCKS`` · ``BLOCK`` values are read in so many blocks at even
    distances, so that features which are larger than the memory cost no more than others.

    Example:
        >>> from herofilter.data import csbm
        >>> one, other = (csbm(num_nodes=50, seed=seed) for seed in (0, 1))
        >>> fingerprint(one) == fingerprint(one.clone()), fingerprint(one) == fingerprint(other)
        (True, False)
    """
    digest = hashlib.sha256()
    for name, value in sorted(data.to_dict().items()):
        digest.update(f"{name};".encode())
        for part in _parts(value):
            digest.update(f"{part.dtype}:{tuple(part.shape)};".encode())
            digest.update(_sample(part).numpy().data)
        if not isinstance(value, Tensor | np.ndarray):
            digest.update(f"{type(value).__name__}:{getattr(value, 'shape', value)};".encode())
    return digest.hexdigest()


def _parts(value: object) -> list[Tensor]:
    if isinstance(value, np.ndarray):
        return [torch.from_numpy(value)]
    if not isinstance(value, Tensor):
        return []
    if isinstance(value, DiskFeatures):
        # what its files hold, of which only the blocks are read
        return list(value.parts)
    if value.layout == torch.sparse_csr:
        return [value.crow_indices(), value.col_indices(), value.values()]
    return [value]


def _sample(value: Tensor) -> Tensor:
    """Return bytes of ``value``: all of them, or those of blocks at even distances."""
    flat = value.detach().reshape(-1)
    if flat.numel() > BLOCKS * BLOCK:
        # the first block and the last one are among them
        last = flat.numel() - BLOCK
        starts = [last * block // (BLOCKS - 1) for block in range(BLOCKS)]
        flat = torch.cat([flat[start : start + BLOCK] for start in starts])
    return flat.contiguous().view(torch.uint8)
