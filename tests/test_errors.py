"""What isn't a bug is one sentence; a bug keeps its traceback."""

import errno
import sqlite3

import pyarrow as pa
import pytest
import torch
from safetensors import SafetensorError

from herofilter.errors import ConfigError, failure_sentence


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("lr must be above 0"), "lr must be above 0"),
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "room for a/b (it is full)"),
        (OSError(errno.EROFS, "Read-only file system", "a"), "a must be one that you may read"),
        (FileNotFoundError(errno.ENOENT, "No such file", "a"), "a must be usable (No such file)"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 5000), "File name too long"),
        (MemoryError("Unable to allocate 1 TiB"), "Unable to allocate 1 TiB"),
        (ImportError("a.so: failed to map segment from shared object"), "must fit into memory"),
        (pa.ArrowMemoryError("malloc of size 64 failed"), "must fit into memory"),
        (pa.ArrowInvalid("bad block"), "ArrowInvalid: bad block"),
        (SafetensorError("header too large"), "SafetensorError: header too large"),
        (sqlite3.OperationalError("database or disk is full"), "free some space"),
    ],
)
def test_failures_are_one_sentence(error: BaseException, said: str) -> None:
    sentence = failure_sentence(error)
    assert sentence is not None
    assert said in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500


def test_an_allocation_of_torch_is_a_matter_of_memory() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**55)
    assert "must fit into memory" in str(failure_sentence(caught.value))


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyError("x"), RuntimeError("a bug")])
def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    assert failure_sentence(error) is None
