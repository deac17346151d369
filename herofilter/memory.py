"""Refuse work that can't fit into memory before it starts, with numbers and a cure."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from herofilter.errors import OutOfMemoryError

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def format_bytes(count: int) -> str:
    """Return a number of bytes in the largest fitting unit.

    Example:
        >>> format_bytes(1536), format_bytes(22 * 2**30)
        ('1.5 KiB', '22 GiB')
    """
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    digits = 1 if size < 10 and unit else 0
    return f"{size:.{digits}f}".removesuffix(".0") + f" {_UNITS[unit]}"


def free_memory() -> int:
    """Return the bytes that can be taken without swapping and within all limits.

    Limits are those of the machine, of the control groups of the process (version 1 and 2, as
    containers and batch systems set them) and of its address space (``ulimit -v``).
    """
    return max(0, min(int(psutil.virtual_memory().available), *_group_room(), *_address_room()))


def _group_room(root: Path = Path("/"), process: str = "self") -> Iterator[int]:
    """Yield what each control group of the process has left; cached files can be dropped."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc" / process / "cgroup").read_text().splitlines()
    for line in lines:
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("memory" if kinds else "")
        # a container may see its own group as the root, whatever the path says
        inner = mount / path.lstrip("/")
        folders = [inner, *inner.parents]
        for folder in folders[: folders.index(mount) + 1]:
            limit = _number(folder / ("memory.limit_in_bytes" if kinds else "memory.max"))
            used = _number(folder / ("memory.usage_in_bytes" if kinds else "memory.current"))
            if limit is not None and used is not None:
                yield limit - used + _cached_files(folder / "memory.stat")


def _number(path: Path) -> int | None:
    # "max" is no limit
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def _cached_files(path: Path) -> int:
    with suppress(OSError, ValueError):
        facts = dict(line.split() for line in path.read_text().splitlines())
        return int(facts.get("total_inactive_file", facts.get("inactive_file", 0)))
    return 0


def _address_room() -> Iterator[int]:
    if os.name != "posix":  # pragma: no cover - Windows has no such limits
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit - int(psutil.Process().memory_info().vms)


def check_memory(needed: int, work: str, cure: str) -> None:
    """Raise :class:`~herofilter.errors.OutOfMemoryError` unless ``needed`` bytes are free.

    Args:
        needed: The bytes that the work takes at its peak.
        work: What the memory is for, as the subject of the message.
        cure: What to do instead, as its last clause.
    """
    free = free_memory()
    if needed > free:
        raise OutOfMemoryError(
            f"{work} needs {format_bytes(needed)} ({format_bytes(free)} are free); {cure}"
        )
