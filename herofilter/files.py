"""Files that survive a crash: atomic writes, checksummed tensors, the cache folder.

What needs torch imports it when it is called, so that paths can be checked without it.
"""

import errno
import hashlib
import json
import os
import re
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import yaml

from herofilter.errors import CacheWarning, HeroFilterError, RunError
from herofilter.scratch import scratch_folder

if TYPE_CHECKING:
    from torch import Tensor

_CHECKSUM = "herofilter.sha256"
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
# what a disk must have room for when a target is tried
_TRIAL = bytes(4096)
_unkept: set[Path] = set()


class DamagedFileError(HeroFilterError, ValueError):
    """A file exists but its content isn't what was written."""


def cache_folder() -> Path:
    """Return the folder for derived files: ``HEROFILTER_CACHE`` or the user's cache folder.

    On macOS and Windows an earlier version had ``~/.cache/herofilter``, which is used where it is.
    """
    if "HEROFILTER_CACHE" in os.environ:
        return Path(os.environ["HEROFILTER_CACHE"]).expanduser()
    folder = Path(platformdirs.user_cache_dir("herofilter", appauthor=False))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    earlier = Path(base) / "herofilter"
    return earlier if earlier.is_dir() and not folder.is_dir() else folder


def warn_unkept(error: OSError) -> None:
    """Warn, once per process, that nothing can be kept in the cache folder; work goes on."""
    folder = cache_folder()
    if folder not in _unkept:
        _unkept.add(folder)
        warnings.warn(
            f"nothing can be kept for next time in the cache folder {folder} "
            f"({error.strerror or error}); set HEROFILTER_CACHE to a folder that can be written",
            CacheWarning,
            stacklevel=3,
        )


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a scratch path whose file takes the place of ``path`` only when the block succeeds.

    The file is on disk before it does. A symbolic link stays, and what it leads to is replaced.
    """
    target = Path(os.path.realpath(path))
    _check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent, target.name) as folder:
        scratch = folder / target.name
        yield scratch
        # some libraries make files that only their owner may read
        scratch.chmod(folder.stat().st_mode & 0o666)
        sync_file(scratch)
        os.replace(scratch, target)
        sync_folder(target.parent)


def sync_file(path: Path) -> None:
    """Wait until a file's content is on disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names of a folder's files are on disk, where the system can say so."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def appearing_folder(folder: Path) -> Iterator[Path]:
    """Yield a scratch folder that becomes ``folder``, a new one, only when the block succeeds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder.parent, folder.name) as scratch:
        yield scratch
        scratch.rename(folder)
        sync_folder(folder.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_text(path: Path) -> str:
    """Return the text of a regular file; anything else is a :class:`DamagedFileError`."""
    if not os.path.isfile(path):
        # a device or a pipe might never end
        raise DamagedFileError(f"{path} must be a file (got none, or something else)")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} must be text in UTF-8 (got other bytes)") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; one that can't be read is a :class:`DamagedFileError`."""
    try:
        return json.loads(read_text(path))
    except RecursionError:
        raise DamagedFileError(f"{path} must be JSON (got one that is nested too deep)") from None
    except DamagedFileError:
        raise
    except ValueError as error:
        said = type(error).__name__
        raise DamagedFileError(f"{path} must be readable JSON ({said})") from error


def parse_yaml(text: str) -> Any:
    """Return what a YAML text holds; one that can't be read is a :class:`DamagedFileError`.

    Example:
        >>> parse_yaml("lr: 0.1")
        {'lr': 0.1}
    """
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise DamagedFileError("YAML must not be nested too deep (got such a text)") from None
    except (yaml.YAMLError, ValueError, OverflowError, AttributeError, TypeError) as error:
        # impossible dates and numbers of thousands of digits are no YAMLError
        said = str(error).partition("\n")[0]
        raise DamagedFileError(f"a text must be readable YAML ({said})") from error


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds; one that can't be read is a :class:`DamagedFileError`."""
    return parse_yaml(read_text(path))


def check_folder_target(folder: Path) -> None:
    """Raise a :class:`RunError` unless files can be written into ``folder``, there or not."""
    place = _first_existing(folder)
    if not os.path.isdir(place):
        raise RunError(
            f"the folder to write must be a folder or absent (got {folder}, and {place} is a "
            "file); give another path"
        )
    try:
        _check_name(folder)
        # permissions alone don't tell: the disk may be full, or the folder not a real one
        with scratch_folder(place, "trial") as scratch, (scratch / "trial").open("wb") as file:
            file.write(_TRIAL)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        why = "is read-only" if error.errno in _READ_ONLY else f"says: {error.strerror}"
        raise RunError(
            f"the folder to write must be one that you may write into (got {_short(folder)}, and "
            f"{place} {why}); give another path"
        ) from error


def check_file_target(path: Path) -> None:
    """Raise a :class:`RunError` unless a file can be written at ``path``, there or not."""
    if os.path.isdir(path):
        raise RunError(f"the file to write must not be a folder (got {path}); give a file's path")
    check_folder_target(path.parent)
    try:
        _check_replaceable(Path(os.path.realpath(path)))
    except OSError as error:
        raise RunError(
            f"the file to write must have a path that can be used (got {_short(path)}: "
            f"{error.strerror}); give another path"
        ) from error


def _check_replaceable(path: Path) -> None:
    """Raise a :class:`RunError` if there is something that isn't a regular file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise RunError(
            f"the file to write must be a regular file or absent (got {path}, a device or a pipe); "
            "give another path"
        )


def _check_name(path: Path) -> None:
    """Raise an OSError if no file can have the name."""
    with suppress(FileNotFoundError):
        os.lstat(path)


def _first_existing(path: Path) -> Path:
    """Return the path itself or the nearest folder above it that is there."""
    return next(place for place in (path, *path.absolute().parents) if os.path.exists(place))


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:200]}… of {len(text)} characters"


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
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    plain = _apart(tensors)
    about = {**(metadata or {}), _CHECKSUM: checksum(plain)}
    with atomic_path(path) as scratch:
        try:
            save_file(plain, scratch, metadata=about)
        except SafetensorError as error:
            raise _system_error(error, path) from error


def _apart(tensors: Mapping[str, "Tensor"]) -> dict[str, "Tensor"]:
    """Return tensors that share no memory, which safetensors refuses; copies of those that do."""
    plain: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        storage = own.untyped_storage()
        # large tables are the rule where memory is scarce, and they have memory of their own
        if storage.data_ptr() in seen or storage.nbytes() != own.nbytes:
            own = own.clone()
        seen.add(own.untyped_storage().data_ptr())
        plain[name] = own
    return plain


def _system_error(error: Exception, path: Path) -> OSError:
    """Return the system's error that a library tells in its own words, such as a full disk."""
    found = re.search(r"os error (\d+)", str(error))
    number = int(found[1]) if found else errno.EIO
    return OSError(number, os.strerror(number), str(path))


def load_tensors(path: Path) -> tuple[dict[str, "Tensor"], dict[str, str]]:
    """Read what :func:`save_tensors` wrote; raise :class:`DamagedFileError` if it changed."""
    from safetensors import SafetensorError, safe_open

    try:
        if not os.path.isfile(path):
            raise OSError("it isn't a file")
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
