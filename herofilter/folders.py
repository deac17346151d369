"""Folders that one command writes at a time, and files in them that are replaced all at once."""

import json
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from herofilter.errors import HeroFilterError, RunError
from herofilter.files import DamagedFileError, read_json, sync_file, sync_folder
from herofilter.scratch import PART, READY, is_scratch, remove_strays, scratch_folder, strays

LOCK = ".herofilter.lock"
_PLAN = ".replace.json"
_FOREVER = -1.0
# seconds, far more than files take to be moved
_MOVING = 30.0


@contextmanager
def locked_folder(folder: str | Path | None, wait: float = 0.0) -> Iterator[None]:
    """Let no other process into such a block with the same folder; a kill lets go of it.

    The folder is made if it is absent, and gone after the block if nothing was written into it.
    Blocks of one process may be nested.

    Args:
        folder: None locks nothing.
        wait: seconds to wait for another process, ``math.inf`` for as long as it takes; then a
            :class:`RunError` says that it is there.
    """
    if folder is None:
        yield
        return
    folder = Path(folder)
    absent = _absent(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        if wait:
            raise
        raise RunError(
            f"the folder to write must be a folder or absent (got {folder}, where a file is in the "
            "way); give another path"
        ) from None
    path = folder.resolve() / LOCK
    lock = FileLock(path, timeout=0, thread_local=False, is_singleton=True)
    try:
        try:
            lock.acquire(timeout=_FOREVER if math.isinf(wait) else wait)
        except Timeout:
            raise RunError(
                f"{folder} must be written by one command at a time, but another one is writing "
                "into it; wait until it has ended, or give another folder"
            ) from None
        try:
            yield
        finally:
            if lock.lock_counter == 1:
                # while it is held: whoever waits sees that its file is gone, and makes a new one
                with suppress(OSError):
                    path.unlink()
            lock.release()
    finally:
        for made in absent:
            with suppress(OSError):
                made.rmdir()


def entries(folder: Path) -> list[Path]:
    """Return what is in a folder, without locks and scratch folders; nothing if it is absent."""
    if not folder.is_dir():
        return []
    return [
        path for path in sorted(folder.iterdir()) if path.name != LOCK and not is_scratch(path.name)
    ]


@contextmanager
def replaced_files(folder: Path, last: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield a scratch folder whose files get into ``folder`` together when the block succeeds.

    A kill at any moment leaves either all files as they were, or all new ones once
    :func:`finish_replacing` was called, as every reader does; other files are left alone.

    Args:
        folder: where the files are to be; made if absent.
        last: the file without which the others don't count.

    Yields:
        the scratch folder, and a list for the names of earlier files that are to go.
    """
    absent = _absent(folder)
    folder.mkdir(parents=True, exist_ok=True)
    gone: list[str] = []
    try:
        finish_replacing(folder)
        with scratch_folder(folder, "new") as scratch:
            yield scratch, gone
            names = {path.name for path in scratch.iterdir()}
            plan = {"last": last, "gone": sorted(set(gone) - names)}
            (scratch / _PLAN).write_text(json.dumps(plan), encoding="utf-8")
            for path in scratch.iterdir():
                sync_file(path)
            sync_folder(scratch)
            with locked_folder(folder, wait=_MOVING):
                ready = scratch.with_name(scratch.name.removesuffix(PART) + READY)
                scratch.rename(ready)
                sync_folder(folder)
                _move(ready, folder)
    finally:
        for made in absent:
            with suppress(OSError):
                made.rmdir()


def finish_replacing(folder: Path) -> None:
    """Move the files that a killed process had ready for ``folder``, and remove what else it left.

    Where nothing was left, nothing is done.
    """
    remove_strays(folder)
    for ready in strays(folder, READY):
        # where the user may not write, or another command does, it is left to others
        with suppress(OSError, HeroFilterError), locked_folder(folder):
            # another process may have done it meanwhile
            if ready.exists():
                _move(ready, folder)


def _move(ready: Path, folder: Path) -> None:
    """Move all files of a scratch folder; a second call continues what a kill has stopped."""
    if not (ready / _PLAN).exists():
        # it goes last of all
        ready.rmdir()
        return
    last, gone = _read_plan(ready / _PLAN)
    for name in gone:
        (folder / name).unlink(missing_ok=True)
    others = [path for path in ready.iterdir() if path.name not in (_PLAN, last)]
    for path in others:
        os.replace(path, folder / path.name)
    sync_folder(folder)
    if (ready / last).exists():
        os.replace(ready / last, folder / last)
        sync_folder(folder)
    (ready / _PLAN).unlink()
    ready.rmdir()


def _read_plan(path: Path) -> tuple[str, list[str]]:
    """Return the last file and those that go; one that leads out of the folder is no such plan."""
    plan = read_json(path)
    try:
        last, gone = plan["last"], list(plan["gone"])
        plain = all(Path(name).name == name and name not in ("", "..") for name in (last, *gone))
    except (KeyError, TypeError):
        plain = False
    if not plain:
        raise DamagedFileError(f"{path} must name files of its folder (got others); remove it")
    return last, gone


def _absent(folder: Path) -> Iterable[Path]:
    """Return the folder and those above it that aren't there, the innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]
