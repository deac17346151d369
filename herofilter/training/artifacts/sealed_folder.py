"""A folder written completely or not at all, with the checksum of every file in it."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from herofilter.errors import RunError
from herofilter.files import DamagedFileError, read_json, write_json
from herofilter.folders import entries, finish_replacing, replaced_files

SEAL = "model.json"
KIND = "herofilter model"
FORMAT = 1
# not part of a model, but of no use beside another one
BESIDE = ("predictions.csv", "report.html", "MODEL_CARD.md", "made.json")
# the finished trainings of a fit, with or without a model beside them
SEARCH = "search"
# what no file system exceeds
_LONGEST = 255


def check_target(folder: str | Path) -> None:
    """Raise a :class:`RunError` unless a model may be written into ``folder``.

    It must be absent, empty but for a search, or hold a model, which is then replaced.
    """
    folder = Path(folder)
    finish_replacing(folder)
    empty = not folder.exists() or (
        folder.is_dir() and all(path.name == SEARCH for path in entries(folder))
    )
    if not empty and _read_seal(folder) is None:
        raise RunError(
            f"the model folder must be new, empty or hold a model to replace (got {folder}); "
            "give another folder"
        )


@contextmanager
def sealed_folder(folder: str | Path, about: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a scratch folder whose files get into ``folder`` only when the block succeeds.

    A model that is there is replaced, and the user's files beside it stay. A kill at any moment
    leaves the one model or the other.

    Args:
        folder: where the files are to be.
        about: what the seal says beside the checksums.
    """
    check_target(folder)
    folder = Path(folder).resolve()
    with replaced_files(folder, last=SEAL) as (scratch, gone):
        yield scratch
        sums = {path.name: _sha256(path) for path in sorted(scratch.iterdir())}
        write_json(scratch / SEAL, {"kind": KIND, "format": FORMAT, **about, "files": sums})
        earlier = _read_seal(folder)
        gone += [] if earlier is None else [*BESIDE, *_files(earlier, folder)]


def open_sealed(folder: str | Path, required: Iterable[str]) -> dict[str, Any]:
    """Return what the seal says, once every file is found to be as it was written.

    Args:
        folder: what :func:`sealed_folder` wrote.
        required: files without which nothing can be done.
    """
    folder = Path(folder)
    seal = read_seal(folder)
    files = _files(seal, folder)
    for name in {*required, *files}:
        path = folder / name
        if name not in files or not os.path.isfile(path):
            raise DamagedFileError(
                f"{folder} must hold {name} (got no such file); copy the whole folder again"
            )
        if _sha256(path) != files[name]:
            raise DamagedFileError(
                f"{path} must be as it was saved, but its checksum differs; "
                "copy the folder again or train anew"
            )
    return seal


def read_seal(folder: str | Path) -> dict[str, Any]:
    """Return what the seal of a model folder says; no other file of the folder is read."""
    folder = Path(folder)
    finish_replacing(folder)
    seal = _read_seal(folder)
    if seal is None:
        there = "a folder without a readable" if folder.is_dir() else "no folder with a"
        raise RunError(
            f"{folder} must be a model folder (got {there} {SEAL}); "
            "give the folder that a model was saved to"
        )
    if not isinstance(seal.get("format"), int) or seal["format"] > FORMAT:
        raise RunError(
            f"{folder} must be of format {FORMAT} or older (got {seal.get('format')!r}, written "
            f"by herofilter {seal.get('herofilter', 'of another version')}); upgrade herofilter"
        )
    return seal


def _read_seal(folder: Path) -> dict[str, Any] | None:
    try:
        seal = read_json(folder / SEAL)
    except (OSError, ValueError):
        return None
    # other programs call a file model.json too
    return seal if isinstance(seal, dict) and seal.get("kind") == KIND else None


def _files(seal: Mapping[str, Any], folder: Path) -> dict[str, str]:
    files = seal.get("files")
    if not isinstance(files, dict) or any(
        Path(name).name != name or name in ("..", SEAL) or len(name) > _LONGEST for name in files
    ):
        raise DamagedFileError(
            f"{folder / SEAL} must list the files beside it (got {str(files)[:60]}); "
            "copy the folder again or train anew"
        )
    return files


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
