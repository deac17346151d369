from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from herofilter.data import load_dataset, on_disk
from herofilter.data.datasets.storage import RawFile, fetch, find
from herofilter.errors import DatasetError
from tests.data import raw_files
from tests.data.conftest import Folders


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


def test_offline_message_names_files_and_folders(folders: Folders) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("penn94")
    assert str(caught.value) == (
        "the files of 'penn94' must be on disk (the download failed: no route to "
        f"host); put penn94/Penn94.mat into the folder {folders.data}, which HEROFILTER_DATA "
        f"names, or into {folders.cache / 'raw'}"
    )


def test_offline_message_without_the_variable(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEROFILTER_DATA")
    with pytest.raises(DatasetError) as caught:
        load_dataset("arxiv-structure")
    assert str(caught.value) == (
        "the files of 'arxiv-structure' must be on disk (there is no download for them); put "
        "ogbn-arxiv-structure/arxiv.npz into a folder of yours and set the environment variable "
        f"HEROFILTER_DATA to it, or into {folders.cache / 'raw'}"
    )


def test_offline_message_names_only_what_is_absent(folders: Folders) -> None:
    raw_files.write_texts(folders.data / "texas/raw", "texas")
    (folders.data / "texas/raw/texas_split_0.6_0.2_7.npz").unlink()
    with pytest.raises(DatasetError, match=r"put texas/raw/texas_split_0\.6_0\.2_7\.npz into"):
        load_dataset("texas")


@pytest.mark.parametrize("name", ["cora", "squirrel", "actor", "questions", "snap-patents"])
def test_every_family_is_one_sentence_offline(folders: Folders, name: str) -> None:
    assert not on_disk(name)
    with pytest.raises(DatasetError, match="must be on disk") as caught:
        load_dataset(name)
    assert "\n" not in str(caught.value)


def test_given_folder_comes_before_the_cache(folders: Folders) -> None:
    file = RawFile("some/file.txt")
    for root in (folders.cache / "raw", folders.data):
        (root / "some").mkdir(parents=True)
        (root / file.path).write_text("x")
        assert find(file) == root / file.path


def test_download_goes_into_the_cache(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = raw_files.write_npz(tmp_path / "elsewhere.npz").read_bytes()
    asked = []

    def answer(url: str, timeout: float, **_: object) -> Answer:
        asked.append((url, timeout))
        if len(asked) == 1:
            raise requests.ConnectionError("for a moment")
        return Answer(content)

    monkeypatch.setattr(requests, "get", answer)
    data = load_dataset("minesweeper")
    assert data.num_nodes == 30
    repository = "https://github.com/yandex-research/heterophilous-graphs"
    # the second try
    assert asked == [(f"{repository}/raw/main/data/minesweeper.npz", 20)] * 2
    assert (folders.cache / "raw/minesweeper/raw/minesweeper.npz").read_bytes() == content
    assert list(folders.data.iterdir()) == []
    assert on_disk("minesweeper")


@pytest.mark.parametrize("answer", ["broken", "other bytes"])
def test_broken_download_leaves_nothing(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    broken = requests.ConnectionError("timed out") if answer == "broken" else None
    monkeypatch.setattr(requests, "get", lambda *_, **__: Answer(b"other", broken))
    said = "timed out" if broken else "SHA256 hash of downloaded file"
    with pytest.raises(DatasetError, match=f"the download failed: {said}"):
        fetch("x", [RawFile("a/b.txt", "https://example.org/b.txt", "0" * 64)])
    assert [path for path in folders.cache.rglob("*") if path.is_file()] == []
