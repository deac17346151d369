"""Refuse work that can't fit into memory before it starts, with numbers and a cure."""

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
    """Return the bytes that can be taken without swapping."""
    return int(psutil.virtual_memory().available)


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
