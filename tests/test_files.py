import errno
import os
from pathlib import Path

import pytest
import torch

from herofilter.errors import RunError
from herofilter.files import (
    DamagedFileError,
    atomic_path,
    cache_folder,
    check_file_target,
    check_folder_target,
    load_tensors,
    parse_yaml,
    read_json,
    save_tensors,
    write_json,
)


def test_tensors_round_trip(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6).view(2, 3), "b": torch.zeros(0), "c": torch.tensor(1.5)}
    save_tensors(tmp_path / "t.safetensors", tensors, {"key": "value"})
    loaded, metadata = load_tensors(tmp_path / "t.safetensors")
    assert metadata == {"key": "value"}
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)


def test_tensors_that_share_memory_round_trip(tmp_path: Path) -> None:
    whole = torch.arange(6.0)
    tensors = {"whole": whole, "same": whole, "part": whole[2:4], "across": whole.view(2, 3).t()}
    save_tensors(tmp_path / "t.safetensors", tensors)
    loaded, _ = load_tensors(tmp_path / "t.safetensors")
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_damage_is_noticed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, {"a": torch.ones(100)})
    content = bytearray(path.read_bytes())
    content[-3] ^= 255
    path.write_bytes({"cut": content[:-50], "flip": content, "empty": b""}[damage])
    with pytest.raises(DamagedFileError, match="delete it so that it is made anew"):
        load_tensors(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"old": True})
    with pytest.raises(UnicodeEncodeError), atomic_path(path) as scratch:
        scratch.write_text("half \ud800", encoding="utf-8")
    assert "old" in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]


def test_files_are_as_public_as_the_user_wants(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_json(tmp_path / "a.json", {})
        save_tensors(tmp_path / "b.safetensors", {"a": torch.ones(1)})
    finally:
        os.umask(mask)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


@pytest.mark.parametrize("folder", [".", "new", "new/inner"])
def test_folders_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    check_folder_target(Path(folder))
    check_folder_target(tmp_path / folder)
    check_file_target(Path(folder) / "file.csv")
    # looking leaves nothing behind
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["file", "file/inner", "file/inner/most"])
def test_a_file_in_the_way_of_a_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError) as caught:
        check_folder_target(tmp_path / folder)
    assert str(caught.value) == (
        f"the folder to write must be a folder or absent (got {tmp_path / folder}, and "
        f"{tmp_path / 'file'} is a file); give another path"
    )
    with pytest.raises(RunError, match="must be a folder or absent"):
        check_file_target(tmp_path / folder / "predictions.csv")


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EACCES, "is read-only"),
        (errno.EROFS, "is read-only"),
        (errno.ENOSPC, "says: No space left on device"),
    ],
)
def test_a_folder_that_takes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    def refuse(path: str, mode: int = 0o777) -> None:
        raise OSError(number, os.strerror(number), path)

    # permissions don't hold for root, as whom tests may run
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(RunError) as caught:
        check_folder_target(tmp_path / "new")
    assert str(caught.value) == (
        f"the folder to write must be one that you may write into (got {tmp_path / 'new'}, and "
        f"{tmp_path} {why}); give another path"
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")
def test_a_folder_in_which_none_can_be_made() -> None:
    with pytest.raises(RunError, match="must be one that you may write into"):
        check_folder_target(Path("/proc/new/model"))


def test_a_folder_in_the_way_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the file to write must not be a folder"):
        check_file_target(tmp_path)
    (tmp_path / "file").touch()
    check_file_target(tmp_path / "file")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str) -> None:
    path = Path(os.devnull)
    if kind == "pipe":
        path = tmp_path / "pipe"
        os.mkfifo(path)
    before = path.stat().st_mode
    for write in (check_file_target, lambda target: write_json(target, {})):
        with pytest.raises(RunError, match="must be a regular file or absent"):
            write(path)
    assert path.stat().st_mode == before


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("real.json")
    write_json(tmp_path / "link.json", [1])
    assert (tmp_path / "link.json").is_symlink()
    assert read_json(tmp_path / "real.json") == [1]


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    for check in (check_folder_target, check_file_target):
        with pytest.raises(RunError, match="File name too long") as caught:
            check(tmp_path / ("x" * 5000))
        assert len(str(caught.value)) < 500
    write_json(tmp_path / ("x" * 250), {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deep"),
        ("{", "must be readable JSON"),
        ("1" * 5000, "must be readable JSON"),
    ],
)
def test_json_that_cannot_be_read(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DamagedFileError, match=said):
        read_json(tmp_path / "a.json")


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DamagedFileError, match="must be a file"):
        read_json(tmp_path / "pipe")
    with pytest.raises(DamagedFileError, match="must be a readable safetensors file"):
        load_tensors(tmp_path / "pipe")


@pytest.mark.parametrize("text", ["[" * 5000, "1" * 5000, "2020-99-99", "{a: b", "&a [*a, *b]"])
def test_yaml_that_cannot_be_read(text: str) -> None:
    with pytest.raises(DamagedFileError):
        parse_yaml(text)


def test_an_earlier_cache_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEROFILTER_CACHE", "~/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("HEROFILTER_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    usual = tmp_path / "Library" / "Caches"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, **_: str(usual / name))
    assert cache_folder() == usual / "herofilter"
    (tmp_path / ".cache" / "herofilter").mkdir(parents=True)
    assert cache_folder() == tmp_path / ".cache" / "herofilter"
    (usual / "herofilter").mkdir(parents=True)
    assert cache_folder() == usual / "herofilter"
