"""How a folder was made: the command, its time and memory, and the environment."""

import sys
from pathlib import Path
from typing import Any

from herofilter.files import read_json, write_json
from herofilter.training.artifacts.environment import environment

try:
    import resource
except ImportError:  # pragma: no cover - Windows doesn't count so
    resource = None  # type: ignore[assignment]

MADE = "made.json"


def write_made(folder: Path, command: str, graph: str, seconds: float) -> None:
    """Write beside a model or run what its files don't say.

    Args:
        folder: of the model or run.
        command: that repeats it.
        graph: what the graph is called.
        seconds: from the start of the command.
    """
    value = {
        "command": command,
        "graph": graph,
        "seconds": round(seconds, 1),
        "peak_memory": peak_memory(),
        "environment": environment(),
    }
    write_json(folder / MADE, value)


def read_made(folder: Path) -> dict[str, Any]:
    """Return what :func:`write_made` wrote; nothing where the file is absent or unreadable."""
    try:
        value = read_json(folder / MADE)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def peak_memory() -> int | None:
    """Return the most bytes that this process, or one that it started, has held at a time."""
    if resource is None:  # pragma: no cover - Windows
        return None
    most = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    # macOS counts bytes, Linux KiB
    return most if sys.platform == "darwin" else most * 1024
