"""Npz files that claim what they don't have, and graphs that can't be."""

import io
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from herofilter import memory
from herofilter.data import load_dataset
from herofilter.data.npz_file import read_arrays
from herofilter.errors import DatasetError, GraphError, HeroFilterError, OutOfMemoryError
from tests.data.raw_files import NODES, write_npz


def npy(shape: str, content: bytes = b"") -> bytes:
    """Return an array file whose header claims a shape."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n" + content


def add(path: Path, name: str, content: bytes) -> None:
    """Replace one array of an npz file by other bytes."""
    with zipfile.ZipFile(path) as old:
        kept = {each: old.read(each) for each in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for each, value in {**kept, f"{name}.npy": content}.items():
            new.writestr(each, value)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(-1,)", "(2, 4000000000000000000)"])
def test_a_header_that_claims_too_much(tmp_path: Path, shape: str) -> None:
    path = write_npz(tmp_path / "mine.npz")
    add(path, "edges", npy(shape, bytes(16)))
    with pytest.raises(DatasetError, match=r"edges\.npy claims"):
        load_dataset(path)


def test_what_is_not_asked_for_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_npz(tmp_path / "mine.npz")
    add(path, "more", npy("(4000000,)", bytes(32_000_000)))
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    assert load_dataset(path).num_nodes == NODES
    with pytest.raises(OutOfMemoryError, match=r"reading .* needs 31 MiB"):
        read_arrays(path)


def test_an_encrypted_member(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz")
    content = bytearray(path.read_bytes())
    # the flag of the first entry, in its own header and in the list at the end
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DatasetError, match="is encrypted"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"edges": np.arange(7)}, "edges must have the shape"),
        ({"edges": np.zeros((2, 3, 2), int)}, "edges can't be"),
        ({"directed": np.array([True, False])}, "directed .* must be true or false"),
        ({"directed": np.array("yes")}, "directed .* must be true or false"),
        ({"train_masks": np.ones((1, NODES, 2), bool)}, "train_masks can't be"),
        ({"node_features": np.ones(NODES, complex)}, "node_features can't be"),
        ({"node_labels": np.array(["a"] * NODES)}, "node_labels can't be"),
        ({"node_labels": np.arange(NODES) % 3 * 1_000_000_000}, "without large gaps"),
    ],
)
def test_arrays_that_no_graph_has(
    tmp_path: Path, changes: dict[str, np.ndarray], said: str
) -> None:
    path = write_npz(tmp_path / "mine.npz", **changes)
    with pytest.raises((DatasetError, GraphError), match=said) as caught:
        load_dataset(path)
    assert "\n" not in str(caught.value)


def test_foreign_byte_order_is_read(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz", node_labels=(np.arange(NODES) % 3).astype(">i8"))
    assert load_dataset(path).y[:4].tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_a_damaged_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.npz").write_bytes(content)
    with pytest.raises(DatasetError, match="must be a readable file"):
        load_dataset(tmp_path / "mine.npz")


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mine.npz")
    (tmp_path / "zero.npz").symlink_to("/dev/zero")
    for name in ("mine.npz", "zero.npz", "x" * 5000 + ".npz"):
        with pytest.raises(HeroFilterError, match="must be an existing file"):
            load_dataset(tmp_path / name)


def test_every_version_of_numpy_headers(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(3), version=(2, 0))
    add(write_npz(tmp_path / "a.npz"), "more", stream.getvalue())
    assert read_arrays(tmp_path / "a.npz", ["more"])["more"].tolist() == [0, 1, 2]
