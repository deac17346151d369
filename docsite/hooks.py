"""Hooks of mkdocs: pages from outside ``docs``, links, and a complete API reference."""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite.markdown import page_of, site_links, without_contents
from docsite.public_names import ROOT
from docsite.reference import expand, reference_faults

_OUTSIDE = ("*.md", "results/reproduce/*/finding.md", "results/reproduce/*/figure.png")
# the path in the repository of each page that isn't in docs
_sources: dict[str, str] = {}


def on_pre_build(config: MkDocsConfig) -> None:
    """Refuse a reference that leaves a public name out."""
    faults = reference_faults()
    if faults:
        raise PluginError("the API reference must be complete; " + "; ".join(faults))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the repository that are part of the site but not in ``docs``."""
    for file in (found for pattern in _OUTSIDE for found in sorted(ROOT.glob(pattern))):
        source = file.relative_to(ROOT).as_posix()
        page = page_of(source)
        if page is None or page in files.src_uris:
            continue
        _sources[page] = source
        content = file.read_bytes() if file.suffix == ".png" else _text(file)
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let a page read well as a part of the site."""
    uri = page.file.src_uri
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    if uri.startswith("api/"):
        markdown = expand(markdown)

    def address(file: str) -> str:
        kind = "tree" if (ROOT / file).is_dir() else "blob"
        return f"{(config.repo_url or '').rstrip('/')}/{kind}/main/{file}"

    source = _sources.get(uri, f"docs/{uri}")
    return site_links(without_contents(markdown), source, address, _titles(config.nav))


def _text(file: Path) -> str:
    """Return a page from outside ``docs``; the finding of a study gets its figure and links."""
    text = file.read_text(encoding="utf-8")
    if file.name != "finding.md":
        return text
    docs = "../../../docs"
    text = text.replace("docs/theory.md", f"[docs/theory.md]({docs}/theory.md)")
    figure = "![The figure of this study](figure.png)"
    return f"{text}\n{figure}\n\n[All studies]({docs}/reproduction.md)\n"


def _titles(nav: Any) -> dict[str, str]:
    """Return the titles that the navigation gives to pages, by path."""
    titles: dict[str, str] = {}
    for entry in nav if isinstance(nav, list) else []:
        for title, inside in entry.items() if isinstance(entry, dict) else ():
            titles |= {inside: title} if isinstance(inside, str) else _titles(inside)
    return titles
