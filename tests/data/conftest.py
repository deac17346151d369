"""Separate folders for each test, and a network that is always down."""

from pathlib import Path
from typing import NamedTuple

import pytest
import requests


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
        raise requests.ConnectionError("no route to host")

    monkeypatch.setattr(requests, "get", refuse)
    # between two tries
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return made
