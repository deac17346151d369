"""The report as a reader sees it, in a real browser."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from herofilter.report.figure import Figure, Lines, Panel, Surface
from herofilter.report.model_report import report_page
from herofilter.report.page import write_page
from herofilter.report.study_page import write_index, write_study
from herofilter.reproduce.studies.study import Summary
from herofilter.reproduce.studies.verdict import Finding
from tests.report.browser import OpenPage, browser
from tests.report.subjects import CLASSES, HOSTILE, made_up

pytestmark = pytest.mark.slow

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
DARK = {**DESKTOP, "color_scheme": "dark"}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def found() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_page(folder / "report.html", report_page(made_up()))
    return folder / "report.html"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Return where screenshots are kept: what CI asks for, else the test's own folder."""
    folder = Path(os.environ.get("HEROFILTER_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("look", [DESKTOP, DARK, PHONE], ids=["light", "dark", "phone"])
def test_a_page_is_drawn_without_errors_and_without_network(
    found: Any, path: Path, pictures: Path, look: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    opened = OpenPage(found, path, **look)
    page = opened.page
    assert opened.wrong == []
    assert opened.requests == [path.as_uri()]
    plots = page.evaluate(
        """Array.from(document.querySelectorAll("[data-figure]"), (plot) => ({
            name: plot.dataset.figure,
            traces: plot.data.length,
            drawn: plot.querySelectorAll(
                ".scatterlayer .trace, .barlayer .trace, .heatmaplayer .hm").length,
            values: plot.data.some((trace) => (trace.y || trace.z).length > 0),
            wide: plot.querySelector("svg.main-svg").getBoundingClientRect().width,
        }))"""
    )
    assert len(plots) == len(report_page(made_up()).charts) > 10
    for plot in plots:
        assert plot["drawn"] == plot["traces"] > 0, plot
        assert plot["values"], plot
        assert plot["wide"] > 200, plot
    # nothing is wider than the window
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    name = request.node.callspec.id
    page.screenshot(path=pictures / f"report-{name}.png", full_page=True)
    assert (pictures / f"report-{name}.png").stat().st_size > 50_000


@pytest.mark.parametrize("look", [DESKTOP, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_nothing_serious(found: Any, path: Path, look: dict[str, Any]) -> None:
    opened = OpenPage(found, path, **look)
    assert opened.axe() == []
    opened.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert opened.axe() == []


def test_axe_would_find_something(found: Any, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<!doctype html><html data-drawn="light"><img src="x.png"><input></html>')
    findings = OpenPage(found, page).axe()
    assert any(finding.startswith("image-alt") for finding in findings)


def test_the_explorer_answers_by_keyboard(found: Any, path: Path) -> None:
    page = OpenPage(found, path, **DESKTOP).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "explorer-id":
            break
    page.keyboard.press("Control+a")
    page.keyboard.type("node 17")
    page.keyboard.press("Enter")
    message = page.locator("#explorer-message")
    assert message.inner_text().startswith("node 17: predicted")
    assert page.locator("#explorer-node tbody tr").count() == 8
    assert page.locator("#explorer-node svg circle").count() > 8
    # an unknown id is said to be one
    page.keyboard.press("Control+a")
    page.keyboard.type("nobody")
    page.keyboard.press("Enter")
    assert "“nobody” isn't among the 120 nodes" in message.inner_text()
    # the buttons, then a node of the patch
    seen = set()
    for button in ("A mistake", "An uncertain one", "A random one"):
        page.get_by_role("button", name=button).focus()
        page.keyboard.press("Space")
        seen.add(message.inner_text())
    assert len(seen) > 1
    assert any("so this is a mistake" in text for text in seen)
    other = page.locator("#explorer-node tbody button").nth(1)
    name = other.inner_text()
    other.focus()
    page.keyboard.press("Enter")
    assert message.inner_text().startswith(f"{name}: predicted")
    assert page.evaluate("document.activeElement.id") == "explorer-message"


def test_hostile_ids_and_classes_are_shown_as_text(found: Any, path: Path) -> None:
    opened = OpenPage(found, path, **DESKTOP)
    page = opened.page
    page.fill("#explorer-id", HOSTILE)
    page.keyboard.press("Enter")
    assert page.locator("#explorer-message").inner_text().startswith(f"{HOSTILE}: predicted")
    # as typed, when it isn't known
    page.fill("#explorer-id", "<img src=x onerror='window.hacked = 3'>")
    page.keyboard.press("Enter")
    assert "<img src=x" in page.locator("#explorer-message").inner_text()
    ticks = page.locator("#plot-confusion .xtick text").all_text_contents()
    assert ticks == list(CLASSES)
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("main img").count() == 0
    assert opened.wrong == []


def test_plots_follow_the_colours_of_the_page(found: Any, path: Path) -> None:
    opened = OpenPage(found, path, **DESKTOP)
    page = opened.page
    colour = "document.querySelector('#plot-reliability').layout.font.color"
    trace = "document.querySelector('#plot-reliability').data[0].line.color"
    light = page.evaluate(colour), page.evaluate(trace)
    page.emulate_media(color_scheme="dark")
    opened.wait("dark")
    assert page.evaluate(colour) != light[0]
    assert page.evaluate(trace) != light[1]
    page.emulate_media(color_scheme="light")
    opened.wait("light")
    assert (page.evaluate(colour), page.evaluate(trace)) == light


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study of a curve and a surface, and the list of studies."""
    folder = tmp_path_factory.mktemp("studies")
    grid = (0.0, 0.5, 1.0)
    curve = Panel("curve", "x", "y", (Lines(HOSTILE, grid, grid),))
    surface = Panel("surface", "x", "y", (Surface(grid, grid, (grid, grid, grid), "z"),))
    titles, table = ("graph", "ours", "why"), (("texas", "0.5", HOSTILE),)
    finding = Finding((HOSTILE,), "confirmed", "It holds.", titles, table)
    study = SimpleNamespace(name="it", title="A study", reproduces="Figure 1", claim=HOSTILE)
    figure = Figure("", (curve, surface))
    write_study(folder, study, Summary([{"y": 1}], figure, finding), "herofilter reproduce", True)
    write_index(folder, ["it"])
    return folder


@pytest.mark.parametrize("look", [DESKTOP, DARK, PHONE], ids=["light", "dark", "phone"])
def test_pages_of_studies_look_like_the_report(
    found: Any, studies: Path, look: dict[str, Any]
) -> None:
    page = studies / "it" / "figure.html"
    opened = OpenPage(found, page, **look)
    assert opened.requests == [page.as_uri(), (studies / "plotly.min.js").as_uri()]
    # drawing surfaces without a graphics card is slow, and the browser says so
    slow = ("ReadPixels", "Canvas2D")
    assert [said for said in opened.wrong if not any(word in said for word in slow)] == []
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.evaluate("document.querySelectorAll('.gl-container canvas').length") > 0
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert opened.axe() == []


@pytest.mark.parametrize("look", [DESKTOP, DARK], ids=["light", "dark"])
def test_the_list_of_studies_follows_the_scheme(
    found: Any, studies: Path, look: dict[str, Any]
) -> None:
    opened = OpenPage(found, studies / "index.html", drawn=False, **look)
    page = opened.page
    assert opened.wrong == []
    assert page.evaluate("document.querySelector('.study img').naturalWidth") > 100
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(20, 25, 28)") == (look is DARK)
    assert opened.axe() == []


def test_a_page_prints_without_its_controls(found: Any, path: Path, pictures: Path) -> None:
    page = OpenPage(found, path, **DARK).page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#explorer-form").is_visible()
    assert page.locator("#plot-confusion").is_visible()
    page.pdf(path=pictures / "report.pdf")
    assert (pictures / "report.pdf").read_bytes().startswith(b"%PDF")


def test_numbers_can_be_read_without_a_script(found: Any, path: Path) -> None:
    page = OpenPage(found, path, java_script_enabled=False, **DESKTOP).page
    assert "the tables hold the same numbers" in page.locator("noscript").inner_text()
    assert page.locator("figure table").count() == len(report_page(made_up()).charts)
