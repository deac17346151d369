"""What the documentation shows is true: the README's code and every docstring's example."""

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest

import herofilter
from herofilter.data import on_disk

README = Path(__file__).parent.parent / "README.md"
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(herofilter.__path__, "herofilter.")
)


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def absent_datasets(block: str) -> list[str]:
    """Return the named datasets that a block loads and that aren't on disk."""
    named = re.findall(r"""load_dataset\(\s*["']([\w-]+)["']""", block)
    return [name for name in named if not on_disk(name)]


def test_readme_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert blocks, "README.md must show some Python"
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    for number, block in enumerate(blocks):
        absent = absent_datasets(block)
        if absent and not os.environ.get("HEROFILTER_DATA"):
            # later blocks may use what this one makes
            pytest.skip(f"block {number} needs {', '.join(absent)} in HEROFILTER_DATA")
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)


def test_blocks_are_found() -> None:
    text = "a\n```python\nx = 1\ny = 2\n```\n```bash\nls\n```\n```python\nz\n```"
    assert python_blocks(text) == ["x = 1\ny = 2\n", "z\n"]
    assert absent_datasets('load_dataset("karate", split=1)') == []


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_enough_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [
        test
        for name in MODULES
        for test in finder.find(importlib.import_module(name), name)
        if test.examples
    ]
    assert len(found) > 20


def test_the_public_names_are_documented() -> None:
    assert [name for name in herofilter.__all__ if not getattr(herofilter, name).__doc__] == []
