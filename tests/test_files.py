import os
from pathlib import Path

import pytest
import torch

from herofilter.errors import RunError
from herofilter.files import (
    DamagedFileError,
    atomic_path,
    check_file_target,
    check_folder_target,
    load_tensors,
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


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # permissions don't hold for root, as whom tests may run
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(RunError) as caught:
        check_folder_target(tmp_path / "new")
    assert str(caught.value) == (
        f"the folder to write must be one that you may write into (got {tmp_path / 'new'}, and "
        f"{tmp_path} is read-only); give another path"
    )


def test_a_folder_in_the_way_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the file to write must not be a folder"):
        check_file_target(tmp_path)
    (tmp_path / "file").touch()
    check_file_target(tmp_path / "file")
