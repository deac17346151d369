import hashlib
from pathlib import Path

import pytest
import requests

from herofilter.data import load_dataset, on_disk
from herofilter.data.datasets import storage
from herofilter.data.datasets.registry import REGISTRY
from herofilter.data.datasets.storage import RawFile, fetch, find
from herofilter.data.datasets.sums import known_sums
from herofilter.errors import CacheWarning, DatasetError
from tests.data import raw_files
from tests.data.conftest import Answer, Folders


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
    data = load_dataset("tolokers")
    assert data.num_nodes == 30
    repository = "https://github.com/yandex-research/heterophilous-graphs"
    # the second try
    assert asked == [(f"{repository}/raw/main/data/tolokers.npz", 20)] * 2
    assert (folders.cache / "raw/tolokers/raw/tolokers.npz").read_bytes() == content
    assert list(folders.data.iterdir()) == []
    assert on_disk("tolokers")


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


CONTENT = b"as it was published"
FILE = RawFile(
    "a/b.txt",
    "https://example.org/b.txt",
    hashlib.sha256(CONTENT).hexdigest(),
    ("https://example.com/b.txt", "https://example.net/b.txt"),
)


@pytest.mark.parametrize("first", ["down", "another file"])
def test_a_mirror_is_asked(folders: Folders, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    asked = []

    def answer(url: str, **_: object) -> Answer:
        asked.append(url)
        if url == FILE.url and first == "down":
            raise requests.ConnectionError("down")
        return Answer(b"a page of an advertiser" if url == FILE.url else CONTENT)

    monkeypatch.setattr(requests, "get", answer)
    (path,) = fetch("x", [FILE])
    assert path == folders.cache / "raw/a/b.txt"
    assert path.read_bytes() == CONTENT
    assert asked == [FILE.url, FILE.url, FILE.mirrors[0]]


def test_when_no_mirror_has_it_the_first_address_is_named(folders: Folders) -> None:
    with pytest.raises(DatasetError, match="the download failed: no route to host"):
        fetch("x", [FILE])
    assert [path for path in folders.cache.rglob("*") if path.is_file()] == []


def test_a_file_of_the_cache_that_changed_is_downloaded_again(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folders.cache / "raw" / FILE.path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    storage.renew_damaged([FILE])
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DatasetError) as caught:
        storage.renew_damaged([FILE])
    assert str(caught.value) == (
        f"{path} must have the SHA-256 {FILE.sha256} (it has another, and it couldn't be "
        "downloaded again: no route to host); delete it, or put a version of your own into the "
        "folder that HEROFILTER_DATA names"
    )
    monkeypatch.setattr(requests, "get", lambda *_, **__: Answer(CONTENT))
    with pytest.warns(CacheWarning, match="was damaged and has been downloaded again"):
        storage.renew_damaged([FILE])
    assert path.read_bytes() == CONTENT
    # the user's own version is taken as it is
    (folders.data / "a").mkdir()
    (folders.data / FILE.path).write_bytes(b"mine")
    path.write_bytes(b"damaged")
    storage.renew_damaged([FILE])


def test_a_damaged_file_of_the_cache_is_never_read(folders: Folders) -> None:
    raw_files.write_texts(folders.cache / "raw/texas/raw", "texas")
    with pytest.raises(DatasetError, match=r"out1_node_feature_label.txt must have the SHA-256"):
        load_dataset("texas")


def test_which_files_have_a_known_hash() -> None:
    every = {file.path: file for info in REGISTRY.values() for file in info.numbered.files}
    for source in REGISTRY["cora"].named.values():
        every |= {file.path: file for file in source.files}
    assert all(file.sha256 == known_sums().get(path) for path, file in every.items())
    # a mirror can't be trusted without
    assert all(file.sha256 for file in every.values() if file.mirrors or file.pickled)
    unknown = {path.partition("/")[0] for path, file in every.items() if not file.sha256}
    assert unknown == {
        *("chameleon", "squirrel", "roman_empire", "amazon_ratings", "tolokers", "questions"),
        *("ogbn-arxiv", "ogbn-arxiv-structure", "snap-patents", "penn94"),
    }
