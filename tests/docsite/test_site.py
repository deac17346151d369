"""The site is built without a warning, and reads well in a real browser without a network."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from filelock import FileLock

from tests.report.browser import OpenPage, browser
from tests.test_docs import ROOT

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
DARK = {**DESKTOP, "color_scheme": "dark"}
LOOKS = {"desktop": DESKTOP, "dark": DARK, "phone": PHONE}
SHOWN = ("index", "your-tables", "theory", "results", "api/nn")


def build(target: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", target],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="session")
def site(shared_folder: Path) -> Path:
    """Return the folder of the site, built once for all processes."""
    for module in ("material", "mkdocstrings_handlers"):
        pytest.importorskip(module, reason="the extra docs isn't installed")
    folder = shared_folder / "site"
    with FileLock(shared_folder / "site.lock"):
        if not folder.exists():
            done = build(folder)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def found() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("HEROFILTER_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def pages(site: Path) -> list[str]:
    """Return all pages but the one for addresses that don't exist, which only a server shows."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name for name in found if name != "404.html"]


def test_no_page_names_a_file_of_the_network(site: Path) -> None:
    """Links may lead anywhere, but nothing that a page loads by itself does."""
    assert len(pages(site)) > 50
    loads = r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//"
    for name in pages(site):
        text = (site / name).read_text(encoding="utf-8")
        assert re.findall(loads, text) == [], name
        styles = re.findall(r"<link\b[^>]*stylesheet[^>]*>", text)
        assert [style for style in styles if "//" in style] == [], name
    for sheet in (site / "assets").rglob("*.css"):
        assert re.findall(r"url\([\"']?https?:", sheet.read_text(encoding="utf-8")) == [], sheet


def test_links_to_the_repository_lead_to_files_of_it(site: Path) -> None:
    seen = set()
    for name in pages(site):
        text = (site / name).read_text(encoding="utf-8")
        seen |= set(re.findall(r"herofilter/herofilter/(blob|tree)/main/([^\"#]+)", text))
    assert len(seen) > 15
    for kind, path in seen:
        assert (ROOT / path).exists(), path
        assert (ROOT / path).is_dir() == (kind == "tree"), path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[b](nowhere.md)", "'nowhere.md', but the target is not found"),
        ("[b](#no-such-heading)", "'#no-such-heading', but there is no such anchor"),
        ("[b][herofilter.no_such_name]", "Could not find cross-reference target"),
        ("::: herofilter.nn.NoSuchName", "herofilter.nn.NoSuchName could not be found"),
    ],
)
def test_what_leads_nowhere_ends_the_build(
    site: Path, tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A\n\n{text}\n")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = re.compile(r"^nav:\n(?:  .*\n)+", re.MULTILINE)
    config = nav.sub("", config).replace("docsite/", f"{ROOT}/docsite/")
    config = config.replace('paths: ["."]', f'paths: ["{ROOT}"]')
    config = re.sub(r"^watch:.*\n", "", config, flags=re.MULTILINE)
    (tmp_path / "mkdocs.yml").write_text(config)
    done = build(tmp_path / "built", tmp_path / "mkdocs.yml")
    assert done.returncode == 1
    assert expected in done.stderr


def test_every_page_opens_as_a_file_without_errors_and_without_network(
    site: Path, found: Any
) -> None:
    for name in pages(site):
        opened = OpenPage(found, site / name, drawn=False, **PHONE)
        assert opened.wrong == [], name
        assert [url for url in opened.requests if not url.startswith("file:")] == [], name
        width = opened.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["viewport"]["width"], f"{name} is {width} wide"
        assert opened.page.locator(".arithmatex:not(:has(.katex))").count() == 0, name
        opened.context.close()


def test_formulas_are_drawn(site: Path, found: Any) -> None:
    opened = OpenPage(found, site / "theory.html", drawn=False, **DESKTOP)
    assert opened.page.locator(".katex").count() > 100
    assert opened.page.locator(".katex-display").count() > 5
    # with KaTeX's fonts, not with those of the page
    assert opened.page.evaluate(
        "document.fonts.ready.then(() => document.fonts.check('16px KaTeX_Main'))"
    )
    assert opened.page.locator(".katex-error").count() == 0


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("look", LOOKS)
def test_main_pages_at_all_widths(
    site: Path, found: Any, pictures: Path, name: str, look: str
) -> None:
    opened = OpenPage(found, site / f"{name}.html", drawn=False, **LOOKS[look])
    page = opened.page
    assert opened.wrong == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    scheme = page.evaluate("document.body.dataset.mdColorScheme")
    assert scheme == ("slate" if look == "dark" else "default")
    # what is wider than the page scrolls inside its own box
    for box in ("pre > code", "table", ".katex-display"):
        for element in page.locator(f"article {box}").all():
            right = element.evaluate(
                "e => { const w = e.closest('.md-typeset__scrollwrap, .arithmatex, pre') || e;"
                " return w.getBoundingClientRect().right; }"
            )
            assert right <= page.evaluate("window.innerWidth") + 1
    page.screenshot(path=pictures / f"site-{name.replace('/', '-')}-{look}.png")


def test_the_search_finds_a_page_from_a_server_and_from_a_file(site: Path, found: Any) -> None:
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}/"
    try:
        for address in (here, f"{site.as_uri()}/"):
            context = found.new_context(**DESKTOP)
            page, asked, wrong = context.new_page(), [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
            page.goto(f"{address}index.html")
            page.locator("input.md-search__input").click()
            page.keyboard.type("bibliographic coupling", delay=20)
            page.wait_for_selector(".md-search-result__item a")
            link = page.locator(".md-search-result__item a").first.get_attribute("href")
            assert "design.html" in (link or "")
            assert [url for url in asked if not url.startswith((here, "file:", "blob:"))] == []
            assert wrong == []
            context.close()
    finally:
        server.shutdown()
        server.server_close()


def test_the_scheme_can_be_switched(site: Path, found: Any) -> None:
    page = OpenPage(found, site / "index.html", drawn=False, **DESKTOP).page
    page.get_by_title("Switch to the dark scheme").click()
    assert page.evaluate("document.body.dataset.mdColorScheme") == "slate"


@pytest.mark.parametrize("name", ["index", "theory", "api/nn"])
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(site: Path, found: Any, name: str, look: str) -> None:
    opened = OpenPage(found, site / f"{name}.html", drawn=False, **LOOKS[look])
    assert opened.axe() == []
