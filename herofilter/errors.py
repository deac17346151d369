"""The errors that a user may see: what must hold, what was got, and the cure, in one sentence."""

import difflib
import errno
import os
from collections.abc import Iterable


class HeroFilterError(Exception):
    """Base class of every error that herofilter raises on purpose."""


class GraphError(HeroFilterError, ValueError):
    """The graph breaks a rule that every graph must keep."""


class ConfigError(HeroFilterError, ValueError):
    """A setting has an unknown name or an impossible value."""


class DatasetError(HeroFilterError, LookupError):
    """A dataset is unknown, or its files are absent or unreadable."""


class OutOfMemoryError(HeroFilterError, MemoryError):
    """The work would need more memory than the machine has free."""


class RunError(HeroFilterError, RuntimeError):
    """A run folder or result can't be written or continued."""


class MissingExtraError(HeroFilterError, ImportError):
    """An optional part of the package isn't installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional part {extra!r}, which isn't installed; "
            f'install it with: pip install "herofilter[{extra}]"'
        )
        self.extra = extra


class CacheWarning(UserWarning):
    """A cached file was damaged and has been made anew, or can't be written."""


def failure_sentence(error: BaseException) -> str | None:
    """Return one sentence for an error that isn't a bug: memory, disk, permissions, bad files.

    None for any other error, whose traceback is wanted.

    Example:
        >>> failure_sentence(OSError(errno.ENOSPC, "No space left on device", "run/a.json"))
        'the disk must have room for run/a.json (it is full); free some space, or write elsewhere'
        >>> failure_sentence(ZeroDivisionError()) is None
        True
    """
    if isinstance(error, HeroFilterError):
        return str(error)
    said = str(error).partition("\n")[0]
    if isinstance(error, MemoryError) or any(sign in said for sign in _LACKS_MEMORY):
        return (
            "the work must fit into memory, but there was not enough "
            f"({said[:200] or 'no more could be had'}); use a smaller graph or smaller settings, "
            "or a machine with more memory"
        )
    if isinstance(error, OSError):
        return _system_sentence(error)
    if type(error).__module__.split(".")[0] in _LIBRARIES:
        full = "disk is full" in said or "disk I/O" in said
        cure = "free some space, or write elsewhere" if full else "repair it, or make it anew"
        return f"a file must be readable and writable ({type(error).__name__}: {said}); {cure}"
    return None


# how torch and the loader of libraries say it
_LACKS_MEMORY = ("DefaultCPUAllocator", "failed to map segment from shared object")
# whose errors are about files
_LIBRARIES = ("safetensors", "safetensors_rust", "pyarrow", "sqlite3", "sqlalchemy", "zipfile")
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


def _system_sentence(error: OSError) -> str:
    from herofilter.scratch import without_scratch

    name = error.filename if isinstance(error.filename, str | os.PathLike) else None
    place = "the file" if name is None else str(without_scratch(os.fspath(name)))
    place = place if len(place) <= 200 else f"{place[:200]}…"
    reason = error.strerror or str(error).partition("\n")[0] or type(error).__name__
    if error.errno in _FULL:
        at = "what is written" if name is None else place
        return f"the disk must have room for {at} (it is full); free some space, or write elsewhere"
    if error.errno in _FORBIDDEN:
        return (
            f"{place} must be one that you may read and write ({reason}); give another path, or "
            "change its permissions"
        )
    return f"{place} must be usable ({reason}); check the path and the disk"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the closest known name, or an empty string."""
    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise a :class:`ConfigError` unless ``value`` is one of ``choices``."""
    known = list(choices)
    if value not in known:
        hint = did_you_mean(str(value), known)
        raise ConfigError(f"{name} must be one of {', '.join(known)} (got {value!r}){hint}")
