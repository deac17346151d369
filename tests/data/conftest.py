"""Separate folders for each test, and a network that is always down."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import requests


class Answer:
    """What a server answers: some bytes, and perhaps an error in the middle."""

    def __init__(self, content: bytes, error: Exception | None = None) -> None:
        self.content, self.error = content, error
        self.headers = {"content-length": str(len(content))}

    def raise_for_status(self) -> None:
        pass

    def iter_content(self, chunk_size: int) -> Iterator[bytes]:
        yield self.content
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        pass


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
