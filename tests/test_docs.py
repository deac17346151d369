"""What the documents show is true: links, code, printed output, cited tests, docstrings."""

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

import herofilter
from herofilter.config import Config, paper_config
from herofilter.data import csbm, on_disk
from herofilter.nn import registry

ROOT = Path(__file__).parent.parent
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
REFERENCE = sorted((ROOT / "docs" / "api").glob("*.md"))
DOCUMENTS = [README, CONTRIBUTING, ROOT / "CHANGELOG.md", *PAGES, *REFERENCE]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(herofilter.__path__, "herofilter.")
)


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """Return a document without its code: fenced blocks and indented lines."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^    .*$", "", text, flags=re.MULTILINE)


def links(text: str) -> list[str]:
    """Return the targets of all links that don't leave the repository."""
    targets = re.findall(r"\]\(([^()\s]+)\)", prose(text))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = sum(1 for known in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", known))
        found.add(f"{slug}-{number}" if number else slug)
    return found


def broken_links(page: Path) -> Iterator[str]:
    for target in links(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def absent_datasets(block: str) -> list[str]:
    """Return the named datasets that a block loads and that aren't on disk."""
    named = re.findall(r"""load_dataset\(\s*["']([\w-]+)["']""", block)
    return [name for name in named if not on_disk(name)]


def promised(block: str) -> list[str]:
    """Return the lines that a block says it prints: comments after ``print(...)`` or at its end."""
    beside = re.findall(r"^ *print\(.*\)  # (.+)$", block, re.MULTILINE)
    closing = re.search(r"(?:^# .+\n)+\Z", block, re.MULTILINE)
    return beside + (re.findall(r"^# (.+)$", closing.group(), re.MULTILINE) if closing else [])


def run_block(block: str, name: str, namespace: dict[str, Any]) -> list[str]:
    """Run a block and return the lines that it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, name, "exec"), namespace)
    return printed.getvalue().splitlines()


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One, `two`: three's\n[a](other.md) [b](#one-two-threes) [c](#one) [d](https://e.org)\n"
        "```\n[e](code.md)\n```\n    [f](indented.md)\n## Same\n## Same\n[g](#same-1)\n"
    )
    assert list(broken_links(page)) == ["other.md: no such file", "#one: no such heading"]


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    listed = set(links(index.read_text(encoding="utf-8")))
    assert {page.name for page in PAGES} - {index.name} - listed == set()


def test_readme_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = python_blocks(README.read_text(encoding="utf-8"))
    assert blocks, "README.md must show some Python"
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "readme"}
    for number, block in enumerate(blocks):
        absent = absent_datasets(block)
        if absent and not os.environ.get("HEROFILTER_DATA"):
            # later blocks may use what this one makes
            pytest.skip(f"block {number} needs {', '.join(absent)} in HEROFILTER_DATA")
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)


BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(python_blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.any_part
@pytest.mark.parametrize("block", BLOCKS)
def test_page_blocks_run_and_print_what_they_say(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if absent_datasets(block):
        pytest.skip(f"needs {', '.join(absent_datasets(block))} in HEROFILTER_DATA")
    monkeypatch.chdir(tmp_path)
    printed = run_block(block, "block", {"__name__": "block"})
    assert [line for line in promised(block) if line not in printed] == [], printed


def test_blocks_are_found() -> None:
    text = "a\n```python\nx = 1\ny = 2\n```\n```bash\nls\n```\n```python\nz\n```"
    assert python_blocks(text) == ["x = 1\ny = 2\n", "z\n"]
    assert absent_datasets('load_dataset("karate", split=1)') == []
    assert promised("# why\nprint(1)  # 1\nx = 2  # two\nprint(x)\nprint(3)\n# 2\n# 3\n") == [
        "1",
        "2",
        "3",
    ]


def test_what_contributing_shows_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))
    shown: dict[str, Any] = {"__name__": "contributing"}
    for block in python_blocks(CONTRIBUTING.read_text(encoding="utf-8")):
        run_block(block, "CONTRIBUTING.md", shown)
    data = csbm(num_nodes=60, num_classes=3)
    assert shown["_mine"]().files == ("my-graph/my_graph.npz",)
    values = torch.tensor([-0.5, 1.0])
    square = shown["SquareFilter"]()
    assert square.response(values, square.initial_weights(values)).tolist() == [0.25, 1.0]
    patches = shown["RandomPatcher"](8)(data)
    assert patches.index.shape == (60, 8)
    assert patches.index[:, 0].tolist() == list(range(60))
    model = registry.find_model("linear").build(data, Config())
    assert model(data).shape == (60, 3)


def test_files_that_documents_name_exist() -> None:
    named = re.compile(r"`((?:herofilter|tests|examples|benchmarks)/[a-z0-9_/-]+\.\w+)")
    absent = {
        f"{page.name}: {name}"
        for page in DOCUMENTS
        for name in named.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert absent == set()


def test_the_tree_in_the_design_is_the_package() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    tree = page.partition("    herofilter/\n")[2].partition("\n\n")[0]
    parents, shown = {0: ROOT / "herofilter"}, set()
    for indent, name in re.findall(r"^    ( +)(\w+)/ ", tree, re.MULTILINE):
        parents[len(indent)] = parents[len(indent) - 2] / name
        shown.add(parents[len(indent)])
    folders = {path for path in (ROOT / "herofilter").rglob("*") if path.is_dir()}
    assert shown == {path for path in folders if path.name != "__pycache__"}


def cited_tests(text: str) -> Iterator[tuple[str, str]]:
    """Return files and tests in them; within a paragraph a file counts until the next one."""
    for paragraph in text.split("\n\n"):
        file = ""
        for name, test in re.findall(r"(tests/[\w/]+\.py)|\b(test_\w+)", paragraph):
            file = name or file
            if test and file:
                yield file, test


def test_tests_that_documents_cite_exist() -> None:
    absent = []
    for page in DOCUMENTS:
        for file, test in cited_tests(page.read_text(encoding="utf-8")):
            if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8"):
                absent.append(f"{page.name}: {file}::{test}")
    assert absent == []


def test_citations_are_found() -> None:
    text = "`test_masks`\n\n`tests/a.py::test_b` and `test_c`, `tests/d.py`, `test_e`\n\n`test_f`"
    expected = [("tests/a.py", "test_b"), ("tests/a.py", "test_c"), ("tests/d.py", "test_e")]
    assert list(cited_tests(text)) == expected


def test_the_settings_table_is_complete_and_true() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+?)(?: \(paper: ([^)]+)\))? \|", page, re.MULTILINE)
    default, paper = Config(), paper_config()
    sections = [
        (getattr(default, entry.name), getattr(paper, entry.name)) for entry in fields(Config)
    ]
    expected = [
        (entry.name, getattr(usual, entry.name), getattr(literal, entry.name))
        for usual, literal in sections
        for entry in fields(usual)
    ]
    assert [name for name, _, _ in rows] == [name for name, _, _ in expected]
    for (name, shown, shown_paper), (_, usual, literal) in zip(rows, expected, strict=True):
        assert Config().with_settings([f"{name}={shown}"]) == default, name
        assert bool(shown_paper) == (usual != literal), name
        if shown_paper:
            changed = Config().with_settings([f"{name}={shown_paper}"])
            assert changed == Config().replace(**{name: literal}), name


@pytest.mark.any_part
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.any_part
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
