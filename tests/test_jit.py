"""The cache of compiled functions notices edits of all that they call."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import FunctionCache

from herofilter import jit

FIRST = """
import numba
from herofilter.jit import compiled
from {package} import {name}_c
from {package}.{name}_b import inner, three

@compiled(nogil=True)
def outer(value):
    return inner(value) + {name}_c.offset() + three()

if __name__ == "__main__":
    from {package}.{name}_a import outer
    print(outer(10))
    print("stored" if numba.config.DISABLE_JIT or sum(outer.stats.cache_hits.values()) else "new")
"""
SECOND = """
from numba import config, types
from numba.extending import intrinsic
from herofilter.jit import compiled
from {package}.{name}_d import CONSTANT

@compiled()
def inner(value):
    return value + 1

@intrinsic
def three(context):
    def generate(context, builder, signature, given):
        return context.get_constant(types.int64, CONSTANT)
    return types.int64(), generate

if config.DISABLE_JIT:
    def three():
        return CONSTANT
"""
FILES = {
    "a": FIRST,
    "b": SECOND,
    "c": "from herofilter.jit import compiled\n@compiled()\ndef offset():\n    return 100\n",
    "d": "CONSTANT = 3\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a folder with four modules, of which the first calls functions of the others."""
    folder = tmp_path / "calls"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for letter, text in FILES.items():
        path = folder / f"m_{letter}.py"
        path.write_text(text.format(package="calls", name="m"), encoding="utf-8")
    return folder


def run(package: Path, **variables: str) -> list[str]:
    """Return what the first module prints: its result, and if the code comes from the cache."""
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "NUMBA_CACHE_DIR": str(package.parent / "numba"),
        **variables,
    }
    command = [sys.executable, "-m", "calls.m_a"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_edit_of_any_file_that_is_called_is_noticed(package: Path) -> None:
    assert run(package) == ["114", "new"]
    assert run(package) == ["114", "stored"]
    edits = [
        ("m_b.py", "value + 1", "value + 2", "115"),
        ("m_c.py", "100", "200", "215"),
        ("m_d.py", "3", "4", "216"),
    ]
    for name, before, after, expected in edits:
        path = package / name
        path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
        assert run(package) == [expected, "new"], (name, after)


def test_without_jit_it_is_the_plain_function(package: Path) -> None:
    assert run(package, NUMBA_DISABLE_JIT="1") == ["114", "stored"]
    assert not (package.parent / "numba").exists()


def test_a_numba_without_these_classes_caches_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "FunctionCache", None)
    function: Any = jit.compiled()(run)
    assert type(function._cache) is FunctionCache


def test_a_function_without_a_file_is_compiled_without_a_cache() -> None:
    code = "from herofilter.jit import compiled\n@compiled()\ndef f(x):\n    return x + 1\n"
    scope: dict[str, object] = {"__name__": "nowhere"}
    exec(compile(code, "<nowhere>", "exec"), scope)
    function = scope["f"]
    assert callable(function)
    assert function(1) == 2
