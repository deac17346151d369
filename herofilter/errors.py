"""The errors that a user may see: what must hold, what was got, and the cure, in one sentence."""

import difflib
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


class CacheWarning(UserWarning):
    """A cached file was damaged and has been made anew."""


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
