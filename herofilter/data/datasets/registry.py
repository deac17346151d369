"""The named datasets: what they are, which files they need, and who reads them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from torch_geometric.data import Data

from herofilter.data.datasets import arxiv, geom_gcn, heterophilous, linkx
from herofilter.data.datasets.planetoid import planetoid_files
from herofilter.data.datasets.storage import RawFile
from herofilter.data.synthetic.csbm import csbm

GEOM_GCN = "geom-gcn 48/32/20"


@dataclass(frozen=True)
class Source:
    """One way to get a dataset with one kind of splits."""

    variant: str
    read: Callable[[Mapping[str, Path]], Data] = field(repr=False)
    files: tuple[RawFile, ...] = field(default=(), repr=False)
    optional: tuple[RawFile, ...] = field(default=(), repr=False)
    download: Callable[[], None] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class DatasetInfo:
    """A named dataset: ``numbered`` gives the splits 0, 1, …; ``named`` those with a name.

    ``metric`` is what the graph's publications judge models by: ``accuracy``, or ``auc`` where one
    of two classes is rare.
    """

    name: str
    description: str
    family: str
    num_splits: int
    numbered: Source = field(repr=False)
    named: Mapping[str, Source] = field(default_factory=dict, repr=False)
    metric: str = "accuracy"

    @property
    def variant(self) -> str:
        """The version of the data and of its numbered splits, for every table and report."""
        return self.numbered.variant

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the raw files inside a data folder."""
        return tuple(file.path for file in self.numbered.files)


def _planetoid(title: str, text: str) -> DatasetInfo:
    def source(split: str, variant: str) -> Source:
        files = planetoid_files(title, split)
        return Source(variant, partial(geom_gcn.read_planetoid, title, split, files), files)

    named = {"public": source("public", "Planetoid's public split")}
    return DatasetInfo(title.lower(), text, "citation", 10, source("geom-gcn", GEOM_GCN), named)


def _webkb(name: str) -> DatasetInfo:
    files = geom_gcn.text_files(f"{name}/raw", name)
    source = Source(GEOM_GCN, partial(geom_gcn.read_webkb, name, files), files)
    text = f"web pages of {name.title()}'s computer science department, by role"
    return DatasetInfo(name, text, "webkb", 10, source)


def _wikipedia(name: str) -> DatasetInfo:
    files = geom_gcn.text_files(f"{name}/geom_gcn/raw", name)
    source = Source(GEOM_GCN, partial(geom_gcn.read_wikipedia, name, files), files)
    text = f"Wikipedia pages about {name}s, by traffic; holds duplicate nodes"
    return DatasetInfo(name, text, "wikipedia", 10, source)


def _filtered(name: str) -> list[DatasetInfo]:
    def source(stem: str, directed: bool) -> Source:
        file = heterophilous.npz_file(f"{name}-filtered", stem)
        read = partial(heterophilous.read_collected, directed=directed)
        return Source(f"filtered 48/32/20{', directed' if directed else ''}", read, (file,))

    text, family = f"{name} without its duplicate nodes", "heterophilous-graphs"
    both = source(f"{name}_filtered", directed=False)
    kept = source(f"{name}_filtered_directed", directed=True)
    return [
        DatasetInfo(f"{name}-filtered", text, family, 10, both),
        DatasetInfo(f"{name}-filtered-directed", f"{text}, with directions", family, 10, kept),
    ]


def _collected(name: str, text: str, metric: str = "accuracy") -> DatasetInfo:
    stem = name.replace("-", "_")
    file = heterophilous.npz_file(f"{stem}/raw", stem)
    source = Source("heterophilous-graphs 50/25/25", heterophilous.read_collected, (file,))
    return DatasetInfo(name, text, "heterophilous-graphs", 10, source, metric=metric)


def _actor() -> DatasetInfo:
    files = geom_gcn.text_files("actor/raw", "film")
    # PyG and geom-gcn name the same graph differently
    source = Source(GEOM_GCN, partial(geom_gcn.read_actor, files), files)
    return DatasetInfo("actor", "actors on the same Wikipedia pages, by topic", "film", 10, source)


def _arxiv() -> list[DatasetInfo]:
    graph = (arxiv.EDGES, arxiv.FEATURES)
    subject, structure = (*graph, arxiv.LABELS, *arxiv.PARTS), (arxiv.STRUCTURE_FILE,)

    def ogb(split: str, variant: str) -> Source:
        read = partial(arxiv.read_arxiv, split)
        return Source(variant, read, subject, download=arxiv.download_arxiv)

    def bare(classes: str, variant: str) -> Source:
        return Source(variant, partial(arxiv.read_arxiv_structure, classes), structure)

    year = Source(
        "five 50/25/25 splits",
        arxiv.read_arxiv_year,
        (*graph, arxiv.YEARS),
        optional=structure,
        download=arxiv.download_arxiv,
    )
    official = bare("subject", "structure only, OGB's split by time")
    years = bare("year", "structure only, LINKX's five 50/25/25 splits")
    named = {"ogb": ogb("ogb", "OGB's split by time")}
    text = "arXiv papers in computer science, by"
    return [
        DatasetInfo(
            "ogbn-arxiv", f"{text} subject", "ogb", 10, ogb("random", "random 48/32/20"), named
        ),
        DatasetInfo("arxiv-year", f"{text} year", "linkx", 5, year),
        DatasetInfo(
            "arxiv-structure", f"{text} subject; no features", "ogb", 1, official, {"ogb": official}
        ),
        DatasetInfo("arxiv-year-structure", f"{text} year; no features", "linkx", 5, years),
    ]


def _linkx() -> list[DatasetInfo]:
    variant = "five random 50/25/25 splits"
    patents = Source(variant, linkx.read_snap_patents, (linkx.SNAP_PATENTS,))
    penn94 = Source(variant, linkx.read_penn94, (linkx.PENN94,))
    return [
        DatasetInfo("snap-patents", "US patents, by year of grant", "linkx", 5, patents),
        DatasetInfo("penn94", "friendships at one university, by gender", "linkx", 5, penn94),
    ]


def _built_in() -> list[DatasetInfo]:
    club = Source("four communities, random 48/32/20", lambda paths: geom_gcn.karate())
    blocks = Source("csbm uniform h=0.5, random 48/32/20", lambda paths: csbm())
    return [
        DatasetInfo("karate", "Zachary's karate club", "built in", 10, club),
        DatasetInfo("csbm", "a synthetic graph of five classes", "built in", 10, blocks),
    ]


REGISTRY: dict[str, DatasetInfo] = {
    info.name: info
    for info in (
        _planetoid("Cora", "papers on machine learning, by topic"),
        _planetoid("CiteSeer", "papers in computer science, by topic"),
        _planetoid("PubMed", "papers on diabetes, by type"),
        *map(_webkb, ("texas", "cornell", "wisconsin")),
        *map(_wikipedia, ("chameleon", "squirrel")),
        _actor(),
        *_filtered("chameleon"),
        *_filtered("squirrel"),
        _collected("roman-empire", "words of a Wikipedia article, by syntactic role"),
        _collected("amazon-ratings", "products bought together, by rating"),
        _collected("minesweeper", "a grid with mines to find", "auc"),
        _collected("tolokers", "workers on shared tasks, banned or not", "auc"),
        _collected("questions", "users answering each other, active or not", "auc"),
        *_arxiv(),
        *_linkx(),
        *_built_in(),
    )
}
