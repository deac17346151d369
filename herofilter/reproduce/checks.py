"""Checks of the options that the benchmarks share."""

from collections.abc import Collection, Sequence

from herofilter.errors import ConfigError, check_choice


def check_names(what: str, names: Sequence[str], known: Collection[str], one: str) -> None:
    """Refuse unknown names, none at all, and one that is given twice.

    Args:
        what: the option.
        names: what was given.
        known: all there are.
        one: what a single name is called in the error.
    """
    for name in names:
        check_choice(one, name, known)
    if not names or len(set(names)) < len(names):
        got = ",".join(names) or "none"
        raise ConfigError(f"{what} must name at least one and none twice (got {got})")


def check_splits(splits: Sequence[int], available: int) -> None:
    """Refuse splits that aren't there, and none at all."""
    if not splits or not 0 <= min(splits) <= max(splits) < available:
        got = ",".join(map(str, splits)) or "none"
        raise ConfigError(f"splits must be between 0 and {available - 1} (got {got})")


def check_workers(workers: int) -> None:
    """Refuse a benchmark without a process to run in."""
    if workers < 1:
        raise ConfigError(f"workers must be at least 1 (got {workers})")
