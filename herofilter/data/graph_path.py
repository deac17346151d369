"""What a graph may be asked for by: a dataset's name, an npz file or a graph folder.

Nothing here loads torch, so that a mistyped name or path is told at once.
"""

import os
from pathlib import Path

from herofilter.errors import DatasetError, did_you_mean
from herofilter.folders import finish_replacing

ABOUT = "graph.json"
DATASETS = (
    *("cora", "citeseer", "pubmed", "texas", "cornell", "wisconsin"),
    *("chameleon", "squirrel", "actor", "chameleon-filtered", "chameleon-filtered-directed"),
    *("squirrel-filtered", "squirrel-filtered-directed"),
    *("roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions"),
    *("ogbn-arxiv", "arxiv-year", "arxiv-structure", "arxiv-year-structure"),
    *("snap-patents", "penn94", "karate", "csbm"),
)


def is_graph_folder(path: str | Path) -> bool:
    """Return whether ``path`` is a folder in which a graph lies, be it damaged or not."""
    return os.path.isfile(Path(path) / ABOUT)


def is_graph_path(name: str | Path) -> bool:
    """Return whether a graph is given by its path: that of an ``.npz`` file or of a folder.

    A folder that has the name of a dataset must be written with a slash, such as ``./cora``.
    """
    text = str(name)
    if text.endswith(".npz"):
        return True
    path = isinstance(name, Path) or os.sep in text or text.startswith("~")
    return path or (text not in DATASETS and is_graph_folder(text))


def check_graph_name(name: str | Path) -> None:
    """Raise a :class:`DatasetError` unless ``name`` is a dataset, an npz file or a graph folder.

    Example:
        >>> check_graph_name("karate")
        >>> check_graph_name("mine.npz")
        Traceback (most recent call last):
        herofilter.errors.DatasetError: mine.npz must be an existing file; check the path
    """
    if not is_graph_path(name):
        check_dataset_name(str(name))
    elif str(name).endswith(".npz"):
        check_npz_file(Path(name))
    else:
        check_graph_folder(Path(name).expanduser().resolve())


def check_dataset_name(name: str) -> None:
    """Raise a :class:`DatasetError` unless there is a dataset of that name."""
    if name not in DATASETS:
        raise DatasetError(
            f"the dataset must be one of {', '.join(DATASETS)}, or the path of an .npz file or a "
            f"graph folder (got {name!r}){did_you_mean(name.lower().replace('_', '-'), DATASETS)}"
        )


def check_npz_file(path: Path) -> None:
    """Raise a :class:`DatasetError` unless the file is there."""
    if not os.path.isfile(path):
        raise DatasetError(f"{str(path)[:300]} must be an existing file; check the path")


def check_graph_folder(folder: Path) -> None:
    """Raise a :class:`DatasetError` unless a graph lies in the folder, be it damaged or not."""
    finish_replacing(folder)
    if not is_graph_folder(folder):
        raise DatasetError(
            f"{folder} must be a graph folder (got no {ABOUT} in it); "
            "make one with: herofilter pack GRAPH --out FOLDER"
        )
