"""Markdown as a site needs it: links that lead out of ``docs``, and no list of contents."""

import posixpath
import re
from collections.abc import Callable, Mapping

# files outside docs that are part of the site, and where they are there
_COPIES = (
    (r"(contributing|security|changelog)\.md", r"\1.md"),
    (r"results/reproduce/([\w-]+)/finding\.md", r"findings/\1.md"),
    (r"results/reproduce/([\w-]+)/figure\.png", r"findings/\1.png"),
)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_CONTENTS = re.compile(r"(?:^- \[[^\]]+\]\(#[^)]+\)\n)+\n?", re.MULTILINE)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text of which all but the code blocks is changed.

    Example:
        >>> outside_code("a\\n    a\\n```\\na\\n```\\n", str.upper)
        'A\\n    a\\n```\\na\\n```\\n'
    """
    parts: list[tuple[bool, list[str]]] = []
    fenced = False
    for line in text.splitlines(keepends=True):
        fence = bool(_FENCE.match(line))
        code = fenced or fence or line.startswith("    ")
        fenced ^= fence
        if not parts or parts[-1][0] != code:
            parts.append((code, []))
        parts[-1][1].append(line)
    return "".join("".join(lines) if code else change("".join(lines)) for code, lines in parts)


def without_contents(text: str) -> str:
    """Return a page without its list of links to its own headings, which a site has at the side.

    Example:
        >>> without_contents("# A\\n\\n- [B](#b)\\n- [C](#c)\\n\\n## B\\n")
        '# A\\n\\n## B\\n'
    """
    return _CONTENTS.sub("", text, count=1)


def site_links(
    text: str, path: str, address: Callable[[str], str], titles: Mapping[str, str]
) -> str:
    """Return a page whose links work in the site.

    A link to a file of the repository that isn't a page leads to the repository; a link whose text
    is the name of a page gets the page's title.

    Args:
        text: the page.
        path: the page's path in the repository, such as ``docs/theory.md``.
        address: gives the address at which a file of the repository is shown.
        titles: the titles of the pages, by their paths below ``docs``.

    Example:
        >>> site_links("[a.md](a.md) [x](../x.py)", "docs/b.md", "at:{}".format, {"a.md": "All"})
        '[All](a.md) [x](at:x.py)'
    """
    folder = posixpath.dirname(path)
    page_folder = posixpath.dirname(page_of(path) or "")

    def change(match: re.Match[str]) -> str:
        words, target = match.groups()
        where, hash_, anchor = target.partition("#")
        if not where or re.match(r"[a-z]+:", where):
            return match.group()
        file = posixpath.normpath(posixpath.join(folder, where))
        page = page_of(file)
        if page is None:
            return f"[{words}]({address(file)}{hash_}{anchor})"
        if posixpath.basename(words) == posixpath.basename(file) and page in titles:
            words = titles[page]
        relative = posixpath.relpath(page, page_folder or ".")
        return f"[{words}]({relative}{hash_}{anchor})"

    return outside_code(text, lambda part: _LINK.sub(change, part))


def page_of(file: str) -> str | None:
    """Return the path of a file of the repository in the site, or None if it has none.

    Example:
        >>> page_of("docs/api/nn.md"), page_of("SECURITY.md"), page_of("results/demo.json")
        ('api/nn.md', 'security.md', None)
    """
    if file == "README.md":
        return "index.md"
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    for pattern, page in _COPIES:
        found = re.fullmatch(pattern, file, re.IGNORECASE)
        if found:
            return found.expand(page).lower()
    return None
