"""Docstrings in Sphinx's notation become Markdown."""

import pytest

pytest.importorskip("griffe", reason="mkdocstrings isn't installed (pip install herofilter[docs])")

from docsite.docstrings import to_markdown

GIVEN = """Rank by :math:`R = U
g`, see :class:`~herofilter.data.GraphSpec`
and :func:`time.perf_counter`.

.. math::
    a + b,

    \\qquad c

Args:
    x: the :class:`HeroFilter` or :meth:`rows`.

Shapes:
    - x: ``[n]``
    - y: ``[n, p]``

Example:
    >>> 1
    1
"""
EXPECTED = """Rank by $R = U g$, see [`GraphSpec`][herofilter.data.graph_spec.GraphSpec]
and `perf_counter`.

$$
a + b,

\\qquad c
$$

Args:
    x: the [`HeroFilter`][herofilter.nn.herofilter.HeroFilter] or `rows`.

**Shapes**

- x: ``[n]``
- y: ``[n, p]``

Examples:
    >>> 1
    1"""


def test_a_docstring() -> None:
    assert to_markdown(GIVEN) == EXPECTED


def test_nothing_of_the_old_notation_is_left_in_the_package() -> None:
    from docsite.public_names import docstring, public_names, public_packages

    paths = {path for package in public_packages() for path in public_names(package).values()}
    for path in paths:
        text = to_markdown(docstring(path) or "")
        assert ":math:`" not in text, path
        assert ".. math::" not in text, path
        assert text.count("$") % 2 == 0, path
