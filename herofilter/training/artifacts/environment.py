"""Versions and machine of a run, saved beside every result."""

import platform
from functools import lru_cache
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


@lru_cache(maxsize=1)
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide what a training gives."""
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in ("herofilter", "torch", "torch_geometric", "numba")},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
