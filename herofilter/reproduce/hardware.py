"""The hardware that a result was measured on, as a leaderboard asks for it."""

import platform
from pathlib import Path

import psutil
import torch

_CPUINFO = Path("/proc/cpuinfo")


def hardware(device: str) -> str:
    """Return the processor, its cores and the memory, or the accelerator and its memory.

    Args:
        device: of the training; ``cuda`` names the graphics card.

    Example:
        >>> "GiB" in hardware("cpu")
        True
    """
    memory = psutil.virtual_memory().total / 2**30
    here = f"{_processor()}, {psutil.cpu_count()} cores, {memory:.0f} GiB"
    if device == "cuda" and torch.cuda.is_available():
        card = torch.cuda.get_device_properties(torch.cuda.current_device())
        return f"{card.name} ({card.total_memory / 2**30:.0f} GiB), {here}"
    return here if device == "cpu" else f"{device} of {here}"


def _processor() -> str:
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
