"""The API reference: pages that name what they document, held against the public names."""

import re
from collections import Counter
from pathlib import Path

from docsite.public_names import (
    ROOT,
    defined_at,
    docstring,
    public_names,
    public_packages,
    summary,
)

PAGES = ROOT / "docs" / "api"
_DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
_TABLE = re.compile(r"^<!-- names of ([\w.]+) -->$", re.MULTILINE)


def documented(pages: Path = PAGES) -> list[str]:
    """Return what the pages document, by the path at which it is defined."""
    texts = (page.read_text(encoding="utf-8") for page in sorted(pages.rglob("*.md")))
    return [defined_at(path) for text in texts for path in _DIRECTIVE.findall(text)]


def reference_faults(pages: Path = PAGES) -> list[str]:
    """Return what is wrong with the reference: names left out, named twice or without docstring."""
    shown = Counter(documented(pages))
    faults = [f"{path} is documented {count} times" for path, count in shown.items() if count > 1]
    for package in public_packages():
        for name, path in public_names(package).items():
            if path not in shown:
                faults.append(f"{package}.{name} has no entry in the API reference")
    for path in shown:
        if not docstring(path):
            faults.append(f"{path} has no docstring")
    return sorted(faults)


def expand(text: str) -> str:
    """Return a page of the reference with its directives as mkdocstrings reads them.

    A public name becomes the path of its definition, with an anchor for the public one, and a
    comment ``<!-- names of PACKAGE -->`` the table of the package's names.
    """

    def directive(match: re.Match[str]) -> str:
        path = defined_at(match.group(1))
        anchor = f'<span id="{match.group(1)}"></span>\n\n' if path != match.group(1) else ""
        return f"{anchor}::: {path}"

    return _DIRECTIVE.sub(directive, _TABLE.sub(lambda found: names_table(found.group(1)), text))


def names_table(package: str) -> str:
    """Return a table of a package's public names, each with a link and the first sentence."""
    from docsite.docstrings import to_markdown

    rows = [
        f"| [`{name}`][{path}] | {to_markdown(summary(path)).replace('|', chr(92) + '|')} |"
        for name, path in sorted(public_names(package).items(), key=lambda row: row[0].lower())
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])
