"""Scratch folders that name their process, so that those of a killed one are removed."""

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

PART, READY = "part", "ready"
_NAME = re.compile(
    r"\..*\.(?P<host>[0-9a-f]{6})-(?P<pid>\d+)-[0-9a-f]{8}\.(?P<state>part|ready)", re.DOTALL
)
_LONGEST = 32
# another machine's process can't be seen; after a day nothing is being written any more
_PATIENCE = 86400.0
_host = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
_live: set[str] = set()
_looked: set[Path] = set()


@contextmanager
def scratch_folder(parent: Path, what: str) -> Iterator[Path]:
    """Yield a new folder in ``parent``, which is gone after the block.

    Scratch folders that killed processes left in ``parent`` are removed.
    """
    if parent not in _looked:
        _looked.add(parent)
        remove_strays(parent)
    name = f".{what[:_LONGEST]}.{_host}-{os.getpid()}-{secrets.token_hex(4)}"
    folder = parent / f"{name}.{PART}"
    _live.add(name)
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _live.discard(name)


def remove_strays(parent: Path) -> None:
    """Remove the scratch folders that killed processes left in a folder."""
    for stray in strays(parent, PART):
        shutil.rmtree(stray, ignore_errors=True)


def strays(parent: Path, state: str) -> list[Path]:
    """Return the scratch folders of a state whose process has ended, the oldest first."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(parent):
            match = _NAME.fullmatch(entry.name)
            if match and match["state"] == state and entry.is_dir(follow_symlinks=False):
                path = Path(entry.path)
                busy = path.stem in _live
                if not busy and _has_ended(match["host"], int(match["pid"]), path):
                    found.append(path)
    return sorted(found, key=_changed)


def is_scratch(name: str) -> bool:
    """Return whether a file's name is that of a scratch folder.

    Example:
        >>> is_scratch(".model.0a1b2c-4711-01234567.part"), is_scratch(".model.part")
        (True, False)
    """
    return _NAME.fullmatch(name) is not None


def without_scratch(path: str | Path) -> Path:
    """Return a path without the scratch folders in it: what the user knows it by.

    Example:
        >>> without_scratch("run/.a.json.0a1b2c-4711-01234567.part/a.json").as_posix()
        'run/a.json'
    """
    return Path(*(part for part in Path(path).parts if not is_scratch(part)))


def _has_ended(host: str, pid: int, path: Path) -> bool:
    if host != _host:
        return time.time() - _changed(path) > _PATIENCE
    if pid == os.getpid():
        return True
    try:
        # a later process may have got the number of the one that was killed
        return bool(psutil.Process(pid).create_time() > _changed(path) + 1)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
