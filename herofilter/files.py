"""Files that survive a crash: atomic writes, checksummed tensors, the cache folder.

What needs torch imports it when it is called, so that paths can be checked without it.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from herofilter.errors import HeroFilterError, RunError

if TYPE_CHECKING:
    from torch import Tensor

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_CHECKSUM = "herofilter.sha256"


class DamagedFileError(HeroFilterError, ValueError):
    """A file exists but its content isn't what was written."""


def cache_folder() -> Path:
    """Return the folder for derived files: ``HEROFILTER_CACHE`` or the user's cache folder."""
    if "HEROFILTER_CACHE" in os.environ:
        return Path(os.environ["HEROFILTER_CACHE"]).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "herofilter"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a scratch path that takes the place of ``path`` only when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        # scratch files are private; a result is to be read as any other file of the user
        mask = os.umask(0)
        os.umask(mask)
        scratch.chmod(0o666 & ~mask)
        os.replace(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with the same file; a kill lets go of it."""
    with path.open("a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def check_folder_target(folder: Path) -> None:
    """Raise a :class:`RunError` unless files can be written into ``folder``, there or not."""
    place = _first_existing(folder)
    if not place.is_dir():
        raise RunError(
            f"the folder to write must be a folder or absent (got {folder}, and {place} is a "
            "file); give another path"
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise RunError(
            f"the folder to write must be one that you may write into (got {folder}, and {place} "
            "is read-only); give another path"
        )


def check_file_target(path: Path) -> None:
    """Raise a :class:`RunError` unless a file can be written at ``path``, there or not."""
    if path.is_dir():
        raise RunError(f"the file to write must not be a folder (got {path}); give a file's path")
    check_folder_target(path.parent)


def _first_existing(path: Path) -> Path:
    """Return the path itself or the nearest folder above it that is there."""
    return next(place for place in (path, *path.absolute().parents) if os.path.exists(place))


def checksum(tensors: Mapping[str, "Tensor"]) -> str:
    """Return the SHA-256 of names, types, shapes and bytes of ``tensors``."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous()
        digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_tensors(
    path: Path, tensors: Mapping[str, "Tensor"], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors as safetensors, atomically and with a checksum."""
    from safetensors.torch import save_file

    plain = _apart(tensors)
    with atomic_path(path) as scratch:
        save_file(plain, scratch, metadata={**(metadata or {}), _CHECKSUM: checksum(plain)})


def _apart(tensors: Mapping[str, "Tensor"]) -> dict[str, "Tensor"]:
    """Return tensors that share no memory, which safetensors refuses; copies of those that do."""
    plain: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().contiguous()
        storage = own.untyped_storage()
        # large tables are the rule where memory is scarce, and they have memory of their own
        if storage.data_ptr() in seen or storage.nbytes() != own.nbytes:
            own = own.clone()
        seen.add(own.untyped_storage().data_ptr())
        plain[name] = own
    return plain


def load_tensors(path: Path) -> tuple[dict[str, "Tensor"], dict[str, str]]:
    """Read what :func:`save_tensors` wrote; raise :class:`DamagedFileError` if it changed."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedFileError(
            f"{path} must be a readable safetensors file ({error}); "
            "delete it so that it is made anew"
        ) from error
    if metadata.pop(_CHECKSUM, None) != checksum(tensors):
        raise DamagedFileError(
            f"{path} must match the checksum written with it, but it doesn't; "
            "delete it so that it is made anew"
        )
    return tensors, metadata
