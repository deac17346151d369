"""Docstrings in the notation of Sphinx as Markdown, for mkdocstrings."""

import re
import textwrap
from functools import cache
from typing import Any

import griffe

from docsite.reference import documented

_BLOCK = re.compile(r"^( *)\.\. math::\n((?:\1    .*\n|[ ]*\n)+)", re.MULTILINE)
_MATH = re.compile(r":math:`([^`]+)`")
_ROLE = re.compile(r":(class|func|meth|attr|data|mod):`~?([^`]+)`")
_SHAPES = re.compile(r"^( *)Shapes:\n((?:\1    .*\n?|[ ]*\n)+)", re.MULTILINE)
_EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)


def to_markdown(text: str) -> str:
    r"""Return a docstring with its roles and formulas in Markdown.

    Example:
        >>> to_markdown("The :math:`g` of :class:`Nobody`.")
        'The $g$ of `Nobody`.'
    """
    text = _BLOCK.sub(_display, text if text.endswith("\n") else text + "\n")
    text = _MATH.sub(lambda found: f"${' '.join(found.group(1).split())}$", text)
    text = _ROLE.sub(lambda found: _reference(found.group(2)), text)
    text = _SHAPES.sub(_shapes, text)
    return _EXAMPLE.sub(r"\1Examples:", text).removesuffix("\n")


class MarkdownDocstrings(griffe.Extension):
    """Let griffe read every docstring in Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def _display(found: re.Match[str]) -> str:
    indent = found.group(1)
    formula = textwrap.dedent(found.group(2)).strip()
    return textwrap.indent(f"$$\n{formula}\n$$\n", indent) + "\n"


def _shapes(found: re.Match[str]) -> str:
    indent = found.group(1)
    listed = textwrap.dedent(found.group(2)).strip("\n")
    return textwrap.indent(f"**Shapes**\n\n{listed}\n", indent) + "\n"


def _reference(target: str) -> str:
    """Return a link to what the reference documents, or the name as code if it is none of that."""
    name = target.rpartition(".")[2]
    paths = _documented().get(name, [])
    # one that could be several stays a name
    return f"[`{name}`][{paths[0]}]" if len(paths) == 1 else f"`{name}`"


@cache
def _documented() -> dict[str, list[str]]:
    """Return the paths of the reference's entries by their last part."""
    names: dict[str, list[str]] = {}
    for path in documented():
        names.setdefault(path.rpartition(".")[2], []).append(path)
    return names
