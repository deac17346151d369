"""Parsed graphs kept as safetensors, so that a dataset is parsed once and not at every start."""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.data.features import csr_tensor, density, to_sparse
from herofilter.errors import CacheWarning
from herofilter.files import (
    DamagedFileError,
    cache_folder,
    load_tensors,
    save_tensors,
    warn_unkept,
)
from herofilter.scratch import remove_strays

# raise it when a reader changes what it returns
_FORMAT = 1
_SPARSE_BELOW = 0.1


def graph_path(key: str) -> Path:
    """Return where the parsed graph ``key`` is kept."""
    return cache_folder() / "graphs" / f"{key}.safetensors"


def stamp(paths: Sequence[Path]) -> str:
    """Return a short text that changes whenever one of the raw files does."""
    digest = hashlib.sha256(f"format {_FORMAT}".encode())
    for path in paths:
        status = path.stat()
        digest.update(f"{path.name}:{status.st_size}:{status.st_mtime_ns};".encode())
    return digest.hexdigest()


def cached_graph(key: str, build: Callable[[], Data], paths: Sequence[Path]) -> Data:
    """Return the graph ``key`` from the cache, or build and keep it if the raw files changed."""
    current = stamp(paths)
    kept = kept_graph(key, current)
    if kept is not None:
        return kept
    data = build()
    try:
        _save(graph_path(key), data, current)
    except OSError as error:
        warn_unkept(error)
    return data


def kept_graph(key: str, wanted: str | None = None) -> Data | None:
    """Return the kept graph if it is undamaged and, with ``wanted``, has that stamp."""
    path = graph_path(key)
    # one that was killed after its last write leaves a folder that no later write would remove
    remove_strays(path.parent)
    if not path.is_file():
        return None
    try:
        tensors, metadata = load_tensors(path)
        return _unpack(tensors, metadata) if wanted in (None, metadata["stamp"]) else None
    except (DamagedFileError, KeyError):
        warnings.warn(
            f"the cached graph {path} was damaged and is made anew from the raw files",
            CacheWarning,
            stacklevel=2,
        )
        return None


def _save(path: Path, data: Data, current: str) -> None:
    tensors: dict[str, Tensor] = {"edge_index": data.edge_index, "y": data.y}
    tensors |= {name: data[name] for name in MASKS}
    metadata = {
        "stamp": current,
        "name": data.name,
        "variant": data.variant,
        "num_nodes": str(data.num_nodes),
        "x": "none",
    }
    x = data.x
    if x is not None:
        metadata["x"] = "dense" if x.layout == torch.strided else "sparse"
        # only float32 comes back unchanged from the sparse form
        if x.layout != torch.strided or (x.dtype == torch.float32 and density(x) < _SPARSE_BELOW):
            x = to_sparse(x)
            metadata["columns"] = str(x.size(1))
            tensors |= {"x.crow": x.crow_indices(), "x.col": x.col_indices(), "x.value": x.values()}
        else:
            tensors["x"] = x
    save_tensors(path, tensors, metadata)


def _unpack(tensors: dict[str, Tensor], metadata: dict[str, str]) -> Data:
    num_nodes = int(metadata["num_nodes"])
    data = Data(edge_index=tensors["edge_index"], y=tensors["y"], num_nodes=num_nodes)
    if "x.crow" in tensors:
        shape = (num_nodes, int(metadata["columns"]))
        x = csr_tensor(tensors["x.crow"], tensors["x.col"], tensors["x.value"], shape)
        data.x = x if metadata["x"] == "sparse" else x.to_dense()
    elif metadata["x"] != "none":
        data.x = tensors["x"]
    for name in MASKS:
        data[name] = tensors[name]
    data.name, data.variant = metadata["name"], metadata["variant"]
    return data
