"""What a run stood on: versions and machine, saved beside every result."""

import platform
from importlib.metadata import PackageNotFoundError, version

import psutil
import torch

_PACKAGES = ("herofilter", "torch", "torch_geometric", "numpy", "scipy", "numba", "safetensors")


def environment() -> dict[str, object]:
    """Return versions, platform, cores, threads and memory."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "cores": psutil.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
