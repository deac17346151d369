"""Datasets by name: one call from a name, or from the path of a graph, to a graph with a split."""

import operator
from pathlib import Path

import torch
from torch_geometric.data import Data

from herofilter.data.checks import MASKS, check_graph
from herofilter.data.datasets.graph_cache import cached_graph, graph_path, kept_graph
from herofilter.data.datasets.heterophilous import read_npz
from herofilter.data.datasets.registry import REGISTRY, DatasetInfo, Source
from herofilter.data.datasets.storage import fetch, find, renew_damaged
from herofilter.data.graph_folder import load_graph_folder
from herofilter.data.graph_path import check_dataset_name, is_graph_path
from herofilter.data.splits import random_splits, select_split
from herofilter.errors import ConfigError


def load_dataset(name: str | Path, split: int | str | None = 0) -> Data:
    """Return a dataset with the masks of one split.

    Args:
        name: a name that :func:`list_datasets` lists, the path of an ``.npz`` file that
            :func:`read_npz` can read, or that of a folder that :func:`save_graph_folder` wrote.
        split: the index of a split; the name of one (``"public"`` for the citation graphs,
            ``"ogb"`` for ogbn-arxiv); or None for all numbered splits at once, as masks of shape
            ``[n, splits]``.

    The attributes ``name`` and ``variant`` of the graph say which version of the data it is. Raw
    files are looked for in the folder ``HEROFILTER_DATA``, then in the cache folder, then they
    are downloaded.

    Example:
        >>> load_dataset("karate", split=3).train_mask.shape
        torch.Size([34])
    """
    if is_graph_path(name):
        kind, read = "an npz graph", read_npz
        if not str(name).endswith(".npz"):
            kind, read = "a graph folder", _read_folder
        if isinstance(split, str):
            raise ConfigError(f"{kind} has numbered splits only (got {split!r}); try 0")
        return _one_split(read(name), split)
    info = _info(str(name))
    source = _source(info, split)
    if not source.files:
        return _one_split(_read(info, source, {}), split)
    key = info.name if source is info.numbered else f"{info.name}-{split}"
    return _one_split(_load(info, source, key), split)


def list_datasets() -> list[DatasetInfo]:
    """Return what is known about every named dataset."""
    return list(REGISTRY.values())


def on_disk(name: str) -> bool:
    """Return whether a dataset, with its numbered splits, can be loaded without a download."""
    files = _info(name).numbered.files
    return all(find(file) is not None for file in files) or graph_path(name).is_file()


def _read_folder(path: str | Path) -> Data:
    data = load_graph_folder(path)
    check_graph(data)
    if all(data.get(mask) is None for mask in MASKS):
        data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 10)
        data.variant = "random 48/32/20"
    return data


def _load(info: DatasetInfo, source: Source, key: str) -> Data:
    if any(find(file) is None for file in source.files):
        # a graph parsed earlier is as good as its raw files
        kept = kept_graph(key)
        if kept is not None:
            return kept
    fetch(info.name, source.files, source.download)
    files = (*source.files, *source.optional)
    paths = {file.path: path for file in files if (path := find(file)) is not None}

    def build() -> Data:
        renew_damaged(source.files)
        return _read(info, source, paths)

    return cached_graph(key, build, list(paths.values()))


def _read(info: DatasetInfo, source: Source, paths: dict[str, Path]) -> Data:
    data = source.read(paths)
    data.name = info.name
    data.variant = data.get("variant") or source.variant
    data.num_nodes = int(data.num_nodes)
    for mask in MASKS:
        # PyG leaves some of geom-gcn's masks as bytes
        data[mask] = data[mask].to(torch.bool)
    return data


def _info(name: str) -> DatasetInfo:
    check_dataset_name(name)
    return REGISTRY[name]


def _source(info: DatasetInfo, split: int | str | None) -> Source:
    if split is None:
        return info.numbered
    if isinstance(split, str) and split in info.named:
        return info.named[split]
    try:
        known = 0 <= operator.index(split) < info.num_splits  # type: ignore[arg-type]
    except TypeError:
        known = False
    if not known:
        indices = f"a number from 0 to {info.num_splits - 1}" if info.num_splits > 1 else "0"
        names = "".join(f", {name!r}" for name in info.named)
        raise ConfigError(f"split of {info.name} must be {indices}{names} or None (got {split!r})")
    return info.numbered


def _one_split(data: Data, split: int | str | None) -> Data:
    if split is None:
        return data
    return select_split(data, 0 if isinstance(split, str) else split)
