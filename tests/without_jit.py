"""What compiled functions give as plain Python, from one process for all tests.

A test module with compiled functions names a function ``jit_cases`` that returns arrays by name.
The tests of this module take the fixture ``without_jit``: the same arrays, computed by a process
in which numba compiles nothing::

    def jit_cases() -> dict[str, np.ndarray]:
        return {"sums": compiled_sums(example())}


    def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
        for name, expected in jit_cases().items():
            np.testing.assert_array_equal(without_jit[name], expected, name)
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import numpy as np


def save_cases(folder: Path, modules: Iterable[str]) -> None:
    """Save the cases of each module, as this process computes them, into a file of its name."""
    for name in modules:
        np.savez(folder / f"{name}.npz", **import_module(name).jit_cases())


def run_without_jit(folder: Path, modules: Iterable[str]) -> None:
    """Save the cases of each module from a process in which numba compiles nothing."""
    subprocess.run(
        [sys.executable, "-m", "tests.without_jit", str(folder), *modules],
        check=True,
        cwd=Path(__file__).parents[1],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )


if __name__ == "__main__":
    save_cases(Path(sys.argv[1]), sys.argv[2:])
