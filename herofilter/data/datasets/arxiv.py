"""The arXiv citation graph: OGB's CSV files, LINKX's years as classes, or its structure alone."""

import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from herofilter.data.datasets.quantiles import even_quantile_classes
from herofilter.data.datasets.storage import RawFile, raw_folder, reading, retrieve
from herofilter.data.npz_file import read_arrays
from herofilter.data.splits import random_splits
from herofilter.files import atomic_path
from herofilter.scratch import scratch_folder

ROOT = "ogbn-arxiv"
LINKX_FRACTIONS = (0.50, 0.25, 0.25)
STRUCTURE_FILE = RawFile("ogbn-arxiv-structure/arxiv.npz")
EDGES, FEATURES, LABELS, YEARS = (
    RawFile(f"{ROOT}/raw/{stem}.csv.gz")
    for stem in ("edge", "node-feat", "node-label", "node_year")
)
PARTS = tuple(RawFile(f"{ROOT}/split/time/{part}.csv.gz") for part in ("train", "valid", "test"))
_ARCHIVE = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"


def read_arxiv(split: str, paths: Mapping[str, Path]) -> Data:
    """Read ogbn-arxiv with its 40 subjects; ``split`` is ``"ogb"`` or ``"random"``."""
    data = _graph(paths)
    data.y = torch.from_numpy(_csv(paths[LABELS.path], np.int64)).flatten()
    if split == "ogb":
        parts = [torch.from_numpy(_csv(paths[part.path], np.int64)).flatten() for part in PARTS]
        masks = [index_to_mask(part, size=data.num_nodes) for part in parts]
    else:
        masks = list(random_splits(data.y, 10))
    data.train_mask, data.val_mask, data.test_mask = masks
    return data


def read_arxiv_year(paths: Mapping[str, Path]) -> Data:
    """Read arxiv-year: the classes are five even quantiles of the year of publication.

    LINKX's five splits are used if the file that holds them is there, else five random ones; the
    attribute ``variant`` says which.
    """
    data = _graph(paths)
    data.y = even_quantile_classes(_csv(paths[YEARS.path], np.float64).ravel(), 5)
    if STRUCTURE_FILE.path in paths:
        masks = _year_masks(_archive(paths[STRUCTURE_FILE.path]))
        data.variant = "LINKX's five 50/25/25 splits"
    else:
        masks = random_splits(data.y, 5, LINKX_FRACTIONS)
        data.variant = "five random 50/25/25 splits, LINKX's weren't at hand"
    data.train_mask, data.val_mask, data.test_mask = masks
    return data


def read_arxiv_structure(classes: str, paths: Mapping[str, Path]) -> Data:
    """Read the graph without features; ``classes`` is ``"subject"`` or ``"year"``."""
    path = paths[STRUCTURE_FILE.path]
    arrays = _archive(path)
    with reading(path, "the layout of arxiv.npz"):
        data = Data(edge_index=torch.from_numpy(arrays["edge_index"]).long())
        data.num_nodes = int(arrays["node_label"].size)
        if classes == "year":
            data.y = even_quantile_classes(arrays["node_year"].ravel().astype(np.float64), 5)
            masks = _year_masks(arrays)
        else:
            data.y = torch.from_numpy(arrays["node_label"]).long().flatten()
            nodes = [
                torch.from_numpy(arrays[f"{p}_idx"]).long() for p in ("train", "valid", "test")
            ]
            # [n, 1]: one split
            one, two, three = (index_to_mask(n, size=data.num_nodes).unsqueeze(1) for n in nodes)
            masks = (one, two, three)
    data.train_mask, data.val_mask, data.test_mask = masks
    return data


def download_arxiv() -> None:
    """Download OGB's archive, and put its files into the cache folder, each complete."""
    folder = raw_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder, ROOT) as scratch:
        retrieve(_ARCHIVE, scratch / "arxiv.zip")
        try:
            with zipfile.ZipFile(scratch / "arxiv.zip") as archive:
                for file in (EDGES, FEATURES, LABELS, YEARS, *PARTS):
                    _extract(archive, file)
        except (zipfile.BadZipFile, KeyError, EOFError, zlib.error) as error:
            raise OSError(f"the archive can't be read ({error})") from error


def _extract(archive: zipfile.ZipFile, file: RawFile) -> None:
    member = file.path.replace(ROOT, "arxiv", 1)
    with (
        atomic_path(raw_folder() / file.path) as scratch,
        archive.open(member) as packed,
        scratch.open("wb") as target,
    ):
        shutil.copyfileobj(packed, target)


def _graph(paths: Mapping[str, Path]) -> Data:
    x = torch.from_numpy(_csv(paths[FEATURES.path], np.float32))
    edges = torch.from_numpy(_csv(paths[EDGES.path], np.int64))
    return Data(x=x, edge_index=edges.t().contiguous(), num_nodes=x.size(0))


def _csv(path: Path, kind: type[np.generic]) -> np.ndarray:
    with reading(path, "OGB's csv.gz layout"):
        return np.loadtxt(path, delimiter=",", dtype=kind, ndmin=2)


def _archive(path: Path) -> dict[str, np.ndarray]:
    with reading(path, "numpy's npz layout"):
        return read_arrays(path)


def _year_masks(arrays: Mapping[str, np.ndarray]) -> tuple[Tensor, Tensor, Tensor]:
    one, two, three = (
        torch.from_numpy(arrays[f"year_{part}_masks"]).t().contiguous()
        for part in ("train", "valid", "test")
    )
    return one, two, three
