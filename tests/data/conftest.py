"""Separate folders for each test, and a network that is always down."""

import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest


class Folders(NamedTuple):
    data: Path
    cache: Path


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folders:
    made = Folders(tmp_path / "data", tmp_path / "cache")
    made.data.mkdir()
    monkeypatch.setenv("HEROFILTER_DATA", str(made.data))
    monkeypatch.setenv("HEROFILTER_CACHE", str(made.cache))

    def refuse(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return made
