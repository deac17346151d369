"""Names and paths of graphs, checked before anything heavy is loaded."""

from pathlib import Path

import pytest

from herofilter.data.datasets.registry import REGISTRY
from herofilter.data.graph_path import DATASETS, check_graph_name, is_graph_path
from herofilter.errors import DatasetError


def test_the_names_are_those_of_the_registry() -> None:
    assert tuple(REGISTRY) == DATASETS


@pytest.mark.parametrize("name", ["karate", "mine.npz", "folder", "./folder", Path("folder")])
def test_what_is_there_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.npz").touch()
    Path("folder").mkdir()
    Path("folder/graph.json").touch()
    check_graph_name(name)
    assert is_graph_path(name) == (name != "karate")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Karate", r"\(got 'Karate'\) \(did you mean 'karate'\?\)"),
        ("mine.npz", "mine.npz must be an existing file; check the path"),
        ("./folder", r"folder must be a graph folder \(got no graph.json in it\)"),
        (Path("karate"), r"karate must be a graph folder \(got no graph.json in it\)"),
    ],
)
def test_what_is_absent_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | Path, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=message):
        check_graph_name(name)
