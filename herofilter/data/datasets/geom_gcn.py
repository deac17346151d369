"""Graphs that PyG's dataset classes parse: citation graphs, WebKB, Wikipedia, Actor, Karate."""

import io
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import Actor, KarateClub, Planetoid, WebKB, WikipediaNetwork

from herofilter.data.datasets.storage import RawFile, reading, verify
from herofilter.data.datasets.sums import known_sums
from herofilter.data.splits import random_splits

_GITHUB = "https://raw.githubusercontent.com"
_GEOM_GCN = f"{_GITHUB}/graphdml-uiuc-jlu/geom-gcn/master"
# the authors' other address has all files, and GCNII's repository those of most graphs
_AUTHORS = f"{_GITHUB}/bingzhewei/geom-gcn/master"
_GCNII = f"{_GITHUB}/chennnM/GCNII/master"
_NOT_IN_GCNII = ("film", "squirrel")


def split_files(folder: str, prefix: str) -> tuple[RawFile, ...]:
    """Return geom-gcn's ten split files, to lie in ``folder``."""
    names = [f"{prefix}_split_0.6_0.2_{i}.npz" for i in range(10)]
    return tuple(_file(f"{folder}/{name}", f"splits/{name}", prefix) for name in names)


def text_files(folder: str, prefix: str) -> tuple[RawFile, ...]:
    """Return geom-gcn's node and edge lists and split files, to lie in ``folder``."""
    names = ["out1_node_feature_label.txt", "out1_graph_edges.txt"]
    lists = [_file(f"{folder}/{name}", f"new_data/{prefix}/{name}", prefix) for name in names]
    return (*lists, *split_files(folder, prefix))


def read_planetoid(
    name: str, split: str, files: Sequence[RawFile], paths: Mapping[str, Path]
) -> Data:
    """Read Cora, CiteSeer or PubMed; every pickle among ``files`` is checked before it is read."""
    return _read(partial(Planetoid, name=name, split=split), "", files, paths)


def read_webkb(name: str, files: Sequence[RawFile], paths: Mapping[str, Path]) -> Data:
    """Read Texas, Cornell or Wisconsin."""
    return _read(partial(WebKB, name=name), "", files, paths)


def read_wikipedia(name: str, files: Sequence[RawFile], paths: Mapping[str, Path]) -> Data:
    """Read Chameleon or Squirrel as geom-gcn prepared them."""
    dataset = partial(WikipediaNetwork, name=name, geom_gcn_preprocess=True)
    return _read(dataset, "", files, paths)


def read_actor(files: Sequence[RawFile], paths: Mapping[str, Path]) -> Data:
    """Read the actor graph, also known as film."""
    return _read(Actor, "actor", files, paths)


def karate() -> Data:
    """Return Zachary's karate club with its four communities as classes."""
    data = KarateClub()[0]
    data.num_nodes = int(data.num_nodes)
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 10)
    return data


def _file(path: str, published: str, prefix: str) -> RawFile:
    """Return a file of geom-gcn's repository; a copy elsewhere counts only if it is the same."""
    sha256 = known_sums().get(path)
    roots = (_AUTHORS,) if prefix in _NOT_IN_GCNII else (_AUTHORS, _GCNII)
    mirrors = tuple(f"{root}/{published}" for root in roots) if sha256 else ()
    return RawFile(path, f"{_GEOM_GCN}/{published}", sha256, mirrors)


def _read(
    dataset: Callable[[str], InMemoryDataset],
    root: str,
    files: Sequence[RawFile],
    paths: Mapping[str, Path],
) -> Data:
    with tempfile.TemporaryDirectory(prefix="herofilter-") as scratch:
        for file in files:
            copy = Path(scratch) / file.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(paths[file.path], copy)
            # the copy is checked, not the original: nobody can exchange it afterwards
            if file.pickled:
                verify(file, copy)
        quiet = io.StringIO()
        with (
            reading(paths[files[0].path].parent, "the layout of the original dataset"),
            warnings.catch_warnings(),
            redirect_stderr(quiet),
            redirect_stdout(quiet),
        ):
            # old pickles trigger warnings of numpy and scipy that the user can't act on
            warnings.simplefilter("ignore")
            return dataset(str(Path(scratch) / root))[0]
