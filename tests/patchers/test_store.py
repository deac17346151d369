"""Patches on disk: the same as in memory, whatever happened while they were made."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.data import GraphSpec, csbm
from herofilter.errors import CacheWarning, RunError
from herofilter.files import DamagedFileError
from herofilter.nn import build
from herofilter.patchers import FastPatcher, PatchStore, store_writer as storing, write_patches
from tests.awkward import AWKWARD
from tests.events import steps

PATCHER = FastPatcher(5, directed="keep", relations=("out", "cocitation"))


def graph(n: int = 90) -> Data:
    return csbm(num_nodes=n, num_classes=3, directed=True)


def contents(folder: Path) -> dict[str, bytes]:
    names = ("index.bin", "score.bin", "certified.bin", "store.json")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("ego", ["first", "ranked"])
def test_the_same_patches_as_in_memory(tmp_path: Path, name: str, ego: str) -> None:
    data = AWKWARD[name]()
    p = min(4, data.num_nodes)
    patcher = FastPatcher(p, ego=ego, directed="keep", relations=("out", "in", "coreference"))
    found = write_patches(patcher, data, tmp_path, shard_rows=3).patches()
    expected = patcher(data)
    assert found.index.dtype == torch.int32
    assert torch.equal(found.index.long(), expected.index)
    assert torch.equal(found.score, expected.score)
    assert found.slots == expected.slots
    assert found.num_nodes == expected.num_nodes
    rows = torch.arange(data.num_nodes)
    assert found.take(rows).index.dtype == torch.int64


def test_certified_rows_are_kept(tmp_path: Path) -> None:
    patcher = FastPatcher(5, method="push", tolerance=1e-3, refine=60)
    found = write_patches(patcher, graph(), tmp_path, shard_rows=16).patches()
    expected = patcher(graph())
    assert torch.equal(found.certified, expected.certified)
    assert 0 < int(expected.certified.sum()) < 90
    assert write_patches(PATCHER, graph(), tmp_path / "other").patches().certified is None


def test_interrupted_between_shards_it_continues(tmp_path: Path) -> None:
    expected = contents(
        write_patches(PATCHER, graph(), tmp_path / "uninterrupted", shard_rows=20).path
    )
    seen: list[Event] = []

    def stop(event: Event) -> None:
        seen.append(event)
        if len(seen) % 5 == 4:
            raise KeyboardInterrupt

    starts = 0
    while True:
        starts += 1
        try:
            store = write_patches(PATCHER, graph(), tmp_path / "cut", stop, shard_rows=20)
            break
        except KeyboardInterrupt:
            with pytest.raises(DamagedFileError, match=r"must be finished before it is used"):
                PatchStore.open(tmp_path / "cut").patches()
    assert starts > 2
    assert contents(store.path) == expected
    assert steps(seen)[-1] == (90, 90)


def test_a_damaged_shard_is_made_again(tmp_path: Path) -> None:
    store = write_patches(PATCHER, graph(), tmp_path, shard_rows=20)
    before = contents(tmp_path)
    with (tmp_path / "score.bin").open("r+b") as file:
        file.seek(4 * 5 * 45)
        file.write(b"\xff\xff")
    assert sorted(store.sound()) == [0, 1, 3, 4]
    calls: list[Event] = []
    write_patches(PATCHER, graph(), tmp_path, calls.append, shard_rows=20)
    assert contents(tmp_path) == before
    assert steps(calls) == [(80, 90), (90, 90)]


def test_a_line_that_was_cut_off_is_no_shard(tmp_path: Path) -> None:
    write_patches(PATCHER, graph(), tmp_path, shard_rows=20)
    journal = tmp_path / "shards.jsonl"
    text = journal.read_text()
    journal.write_text(text[: len(text) - 9])
    assert sorted(PatchStore.open(tmp_path).finished()) == [0, 1, 2, 3]
    store = write_patches(PATCHER, graph(), tmp_path, shard_rows=20)
    assert sorted(store.finished()) == [0, 1, 2, 3, 4]


def test_other_graphs_and_settings_are_refused(tmp_path: Path) -> None:
    write_patches(PATCHER, graph(), tmp_path / "store")
    other = graph()
    other.edge_index = other.edge_index.flip(0)
    for patcher, data in ((PATCHER, other), (FastPatcher(4), graph())):
        with pytest.raises(RunError) as caught:
            write_patches(patcher, data, tmp_path / "store")
        assert str(caught.value) == (
            f"{tmp_path / 'store'} must hold patches of the same graph with the same settings to "
            "be continued, but it holds others; give another folder"
        )
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(RunError) as caught:
        write_patches(PATCHER, graph(), tmp_path / "full")
    assert str(caught.value) == (
        f"the folder of patches must be new, empty or one to continue (got {tmp_path / 'full'}, "
        "with 'thesis.tex' in it); give another folder"
    )


def test_damaged_folders(tmp_path: Path) -> None:
    with pytest.raises(DamagedFileError, match=r"must be a folder of patches .*herofilter patch"):
        PatchStore.open(tmp_path / "none")
    write_patches(PATCHER, graph(), tmp_path)
    (tmp_path / "index.bin").write_bytes(b"short")
    with pytest.raises(DamagedFileError, match=r"index.bin must have 1800 bytes"):
        PatchStore.open(tmp_path)
    (tmp_path / "store.json").write_text(json.dumps({"num_nodes": 90}))
    with pytest.raises(DamagedFileError):
        PatchStore.open(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"settings": "a,b"}, {"settings": []}, {"shard_rows": "a,b"}, {"shard_rows": 0}],
)
def test_headers_that_describe_nothing(tmp_path: Path, change: dict) -> None:
    store = write_patches(PATCHER, graph(), tmp_path)
    (tmp_path / "store.json").write_text(json.dumps({**store.header, **change}))
    with pytest.raises(DamagedFileError, match="must be a folder of patches"):
        PatchStore.open(tmp_path)


def test_a_journal_of_other_bytes_has_no_shards(tmp_path: Path) -> None:
    write_patches(PATCHER, graph(), tmp_path)
    lines = (
        b'\xe6\xff\n{"shard": 0}\n{"shard": -1, "crc32": 1}\n{"shard": 7, "crc32": 1}\n'
        + b"[" * 9999
    )
    (tmp_path / "shards.jsonl").write_bytes(lines)
    store = PatchStore.open(tmp_path)
    assert store.finished() == store.sound() == {}
    with pytest.raises(DamagedFileError, match="must be finished before it is used"):
        store.patches()


def test_damaged_patches_of_the_cache_are_made_anew(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    expected = storing.stored_patches(PATCHER, graph())
    (header,) = tmp_path.rglob("store.json")
    header.write_text("{}")
    with pytest.warns(CacheWarning, match="were damaged and are made anew"):
        found = storing.stored_patches(PATCHER, graph())
    assert torch.equal(found.index, expected.index)
    assert PatchStore.open(header.parent).patches().num_rows == 90


def test_models_of_large_graphs_use_the_cache(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "STORED_FROM", 50)
    config = build.Config().with_settings(["patcher=fast", "patch_size=4", "summary=false"])
    made = build.make_patcher(graph(), config)
    (folder,) = (tmp_path / "patches").iterdir()
    before = (folder / "index.bin").stat().st_mtime_ns
    again = build.make_patcher(graph(), config)
    assert (folder / "index.bin").stat().st_mtime_ns == before
    monkeypatch.setattr(build, "STORED_FROM", 1000)
    plain = build.make_patcher(graph(), config)
    for stored in (made, again):
        assert torch.equal(stored.index.long(), plain.index)
    models = [
        build.build_herofilter(graph(), config, GraphSpec.of(graph())).eval() for _ in range(1)
    ]
    monkeypatch.setattr(build, "STORED_FROM", 50)
    models.append(build.build_herofilter(graph(), config, GraphSpec.of(graph())).eval())
    models[1].load_state_dict(models[0].state_dict())
    assert torch.equal(models[0](graph()), models[1](graph()))
    nodes = torch.tensor([7, 3])
    assert torch.equal(models[0](graph(), nodes), models[1](graph(), nodes))


def test_a_cache_that_cannot_be_written_is_skipped(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path / "file"))
    with pytest.warns(CacheWarning, match="nothing can be kept for next time"):
        patches = storing.stored_patches(PATCHER, graph())
    assert torch.equal(patches.index, PATCHER(graph()).index)


def test_a_full_disk_is_reported_and_leaves_the_folder_usable(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", str(tmp_path))

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storing.os, "posix_fallocate", full)
        with pytest.warns(CacheWarning, match="No space left on device"):
            patches = storing.stored_patches(PATCHER, graph())
    assert torch.equal(patches.index, PATCHER(graph()).index)
    # the unfinished folder is continued once there is space
    assert torch.equal(storing.stored_patches(PATCHER, graph()).index.long(), patches.index)


KILLED = """
import sys, time
from herofilter.patchers import write_patches
from tests.patchers.test_store import PATCHER, graph

print("ready", flush=True)
write_patches(PATCHER, graph(2000), sys.argv[1], lambda *a: time.sleep(0.02), shard_rows=100)
print("finished", flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    expected = contents(write_patches(PATCHER, graph(2000), tmp_path / "a", shard_rows=100).path)
    moments = random.Random(0)
    for attempt in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / "b")], stdout=subprocess.PIPE
        )
        assert process.stdout.readline() == b"ready\n"
        if attempt < 2:
            time.sleep(moments.uniform(0.0, 0.5))
            os.kill(process.pid, signal.SIGKILL)
        rest = process.communicate()[0]
    assert rest == b"finished\n"
    assert contents(tmp_path / "b") == expected
