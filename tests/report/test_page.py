import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from herofilter.report import page
from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Panel
from herofilter.report.model_report import report_page
from herofilter.report.page import pack, render_page
from herofilter.report.page_parts import Chart, Page, Section, Table, Words, figure_table
from tests.report.subjects import CLASSES, HOSTILE, made_up

MIB = 2**20


def unpack(text: str) -> dict:
    found = re.search(r'<script id="packed" type="text/plain">([^<]*)</script>', text)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


class Tags(HTMLParser):
    """Counts the tags of a page and notes whatever could load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action") and not (value or "").startswith("#"):
                self.loaded.append(f"{tag} {name}={value}")


@pytest.fixture(scope="module")
def text() -> str:
    return render_page(report_page(made_up()))


def test_a_report_is_one_small_file_that_loads_nothing(text: str) -> None:
    assert len(text.encode()) < 4 * MIB
    tags = Tags(text)
    assert tags.loaded == []
    assert "default-src 'none'" in text
    assert tags.tags["h1"] == 1
    assert tags.tags["section"] == 6


def test_user_strings_are_escaped(text: str) -> None:
    assert HOSTILE not in text
    assert all(name not in text for name in CLASSES[1:])
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    # only the page's own scripts
    assert Tags(text).tags["script"] == 4
    assert unpack(text)["explorer"]["classes"] == list(CLASSES)


def test_every_chart_has_a_caption_its_numbers_and_a_place(text: str) -> None:
    charts = report_page(made_up()).charts
    data = unpack(text)["figures"]
    assert list(data) == [chart.name for chart in charts]
    for chart in charts:
        assert chart.finding.endswith(".")
        assert f'data-figure="{chart.name}"' in text
        assert chart.table.rows
        assert len(data[chart.name]["data"]) == len(chart.figure.panels[0].marks)
    assert Tags(text).tags["figcaption"] == Tags(text).tags["details"] - 3 == len(charts)


def test_the_same_run_gives_the_same_file(text: str) -> None:
    assert render_page(report_page(made_up())) == text


def test_a_page_without_charts_has_no_plotting_script() -> None:
    plain = Page("a", "b", (Section("s", "t", (Words(("<i>hello</i>",)),)),))
    text = render_page(plain)
    assert "&lt;i&gt;hello" in text
    assert len(text) < MIB / 8


def test_a_script_that_would_end_its_element_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.js").write_text("const end = '</SCRIPT>';")
    monkeypatch.setattr(page, "STATIC", tmp_path)
    with pytest.raises(ValueError, match="must not hold the end of a script"):
        page.inline("bad.js")


def test_infinite_values_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"value": float("nan")})


def one(*marks: Bars | Lines | HeatMap) -> Figure:
    return Figure("", (Panel("", "x", "y", marks),))


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (
            one(Lines("a", (2.0, 1.0), (0.5, None)), Lines("b", (1.0, 3.0), (7.0, 8.0))),
            Table(("x", "a", "b"), (("1", "", "7"), ("2", "0.5", ""), ("3", "", "8"))),
        ),
        (
            one(Bars("", ("u", "v"), (10.0, 20.0), (1.0, 2.0), (0.5, 4.0))),
            Table(
                ("x", "y", "y, from", "y, to"), (("u", "10", "9.5", "11"), ("v", "20", "16", "22"))
            ),
        ),
        # bars in two colours are one column
        (
            one(Bars("", ("u", "v"), (10.0, None)), Bars("", ("u", "v"), (None, 20.0))),
            Table(("x", "y"), (("u", "10"), ("v", "20"))),
        ),
        (
            one(HeatMap(("p", "q"), ("u", "v"), ((1.0, 2.0), (3.0, None)), "z")),
            Table(("y \\ x", "p", "q"), (("u", "1", "2"), ("v", "3", ""))),
        ),
    ],
)
def test_the_numbers_of_a_chart(figure: Figure, expected: Table) -> None:
    assert figure_table(figure) == expected
    assert Chart("c", "", "f.", figure).table == expected
