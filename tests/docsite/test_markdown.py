"""Pages as the site needs them: links, contents, code left alone."""

import doctest
import importlib

import pytest

from docsite.markdown import page_of, site_links, without_contents
from tests.test_docs import DOCUMENTS, ROOT, anchors, links

TITLES = {"a.md": "All of it", "api/nn.md": "nn", "contributing.md": "Contributing"}


def changed(text: str, path: str = "docs/page.md") -> str:
    return site_links(text, path, "at:{}".format, TITLES)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[a.md](a.md#x)", "[All of it](a.md#x)"),
        ("[see](a.md)", "[see](a.md)"),
        ("[two\nlines](../CONTRIBUTING.md)", "[two\nlines](contributing.md)"),
        ("[x.py](../examples/x.py)", "[x.py](at:examples/x.py)"),
        ("[why](../README.md)", "[why](index.md)"),
        ("![it](demo.png)", "![it](demo.png)"),
        ("[in](#here) [out](https://e.org/a.md)", "[in](#here) [out](https://e.org/a.md)"),
        (
            "```\n[a.md](a.md)\n```\n    [a.md](a.md)\n",
            "```\n[a.md](a.md)\n```\n    [a.md](a.md)\n",
        ),
    ],
)
def test_links_of_a_page(given: str, expected: str) -> None:
    assert changed(given) == expected


def test_links_of_pages_in_other_folders() -> None:
    assert changed("[docs/a.md](docs/a.md)", "CONTRIBUTING.md") == "[All of it](a.md)"
    assert changed("[a](../a.md) [b](nn.md)", "docs/api/index.md") == "[a](../a.md) [b](nn.md)"
    finding = "results/reproduce/theorem-1/finding.md"
    assert changed("![f](figure.png)", finding) == "![f](theorem-1.png)"
    assert changed("[t](../../../docs/a.md)", finding) == "[t](../a.md)"


def test_only_a_list_of_the_pages_own_headings_is_left_out() -> None:
    text = "# A\n\n- [B](#b)\n- [C](#c)\n\n## B\n\n- [x](a.md)\n\n## C\n"
    assert without_contents(text) == "# A\n\n## B\n\n- [x](a.md)\n\n## C\n"


def test_a_list_of_contents_names_every_heading() -> None:
    """The repository's page has no other; the site has the headings at the side."""
    for page in DOCUMENTS:
        text = page.read_text(encoding="utf-8")
        if without_contents(text) == text:
            continue
        top = [line[3:] for line in text.splitlines() if line.startswith("## ")]
        listed = {target[1:] for target in links(text) if target.startswith("#")}
        missing = anchors("\n".join(f"## {title}" for title in top)) - listed
        assert missing == set(), page.name


def test_files_outside_docs_that_are_pages_exist() -> None:
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "README.md"):
        assert page_of(name) is not None
        assert (ROOT / name).exists()
    assert page_of("results/tables/homophilic.md") is None


@pytest.mark.parametrize("name", ["markdown", "public_names", "notebook", "docstrings"])
def test_docstrings_of_docsite(name: str) -> None:
    if name == "docstrings":
        pytest.importorskip("griffe")
    assert doctest.testmod(importlib.import_module(f"docsite.{name}")).failed == 0
