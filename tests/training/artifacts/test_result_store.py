"""Records of finished trainings outlive whatever happens to the process."""

import json
from pathlib import Path

import pytest

from herofilter.config import Config
from herofilter.errors import RunError
from herofilter.training.artifacts.result_store import (
    DamagedLineWarning,
    DocumentStore,
    LineStore,
    Record,
    ResultStore,
    differing,
)


def lines(path: Path) -> LineStore[str]:
    return LineStore(path, lambda record: str(record["name"]))


def document(path: Path) -> DocumentStore:
    store = DocumentStore(path)
    if path.exists():
        store.read()
    return store


STORES = [lines, document]


@pytest.mark.parametrize("open_store", STORES)
def test_records_come_back_and_the_later_one_counts(open_store, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store"
    store: ResultStore[str] = open_store(path)
    assert not path.exists()
    for name, accuracy in (("a", 0.5), ("b", 0.6), ("a", 0.7)):
        store.add(name, {"name": name, "accuracy": accuracy})
        # at every moment all that was added is on disk
        assert open_store(path).records == store.records
    assert {name: record["accuracy"] for name, record in store.records.items()} == {
        "a": 0.7,
        "b": 0.6,
    }
    assert "a" in store
    assert "c" not in store
    assert store.missing(["c", "a", "d"]) == ["c", "d"]


def test_a_document_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.json"
    store = document(path)
    store.add("0", {"accuracy": 0.5})
    before = path.read_bytes()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("herofilter.files.os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        store.add("1", {"accuracy": 0.6})
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["store.json"]


def test_what_a_document_says_beside_its_records(tmp_path: Path) -> None:
    store = document(tmp_path / "store.json")
    store.before, store.after = {"model": "mlp"}, {"cores": 2}
    store.add("0", {"accuracy": 0.5})
    text = (tmp_path / "store.json").read_text()
    assert list(json.loads(text)) == ["model", "splits", "cores"]
    assert document(tmp_path / "store.json").read()["cores"] == 2


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"splits": 3}'])
def test_a_damaged_document_is_an_error_of_its_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    path.write_text(text)
    with pytest.raises((ValueError, KeyError, TypeError)):
        DocumentStore(path).read()


def test_damaged_lines_are_told_and_the_last_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    record: Record = {"name": "a", "accuracy": 0.5}
    lines(path).add("a", record)
    path.write_text('{"accuracy": 1}\n' + path.read_text() + '{"name": "b", "accu')
    with pytest.warns(DamagedLineWarning, match="line 1 of") as caught:
        store = lines(path)
    assert (len(caught), store.records) == (1, {"a": record})
    store.add("b", {"name": "b", "accuracy": 0.6})
    with pytest.warns(DamagedLineWarning):
        assert list(lines(path).records) == ["a", "b"]


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="must be a readable file of finished trainings"):
        lines(path)


def test_headers_differ_by_what_they_say() -> None:
    header = {"model": "mlp", "sizes": (1, 2), "config": Config().to_dict()}
    saved = json.loads(json.dumps(header))
    assert differing(header, saved) == []
    # a setting of earlier versions
    saved["config"]["patcher"]["resolved"] = False
    assert differing(header, saved) == []
    saved["config"]["patcher"]["patch_size"] = 3
    assert differing(header, {**saved, "model": "gcn"}) == ["model", "config"]
    assert differing(header, {**saved, "more": 1}) == ["config", "more"]
    assert differing(header, "no header at all") == list(header)
