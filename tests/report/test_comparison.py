import pytest

from herofilter.report.compared_run import Entry, paired
from herofilter.report.comparison import comparison_page
from herofilter.report.page import render_page
from herofilter.report.page_parts import Notices, Page, Table


def entry(name: str, values: dict[str, float], **settings: str) -> Entry:
    accuracy = {("texas", split): value for split, value in values.items()}
    return Entry(name, "herofilter", accuracy, settings, 1.0)


FIRST = entry("<first>", {"0": 0.5, "1": 0.6, "2": 0.7}, lr="0.1")
SECOND = entry("second", {"2": 0.8, "0": 0.6, "1": 0.71, "9": 0.0}, lr="0.2")
APART = entry("apart", {"5": 0.5}, lr="0.1")


def tables(page: Page) -> dict[str, Table]:
    parts = (part for section in page.sections for part in section.parts)
    return {part.caption: part for part in parts if isinstance(part, Table)}


def test_only_common_splits_count() -> None:
    assert paired(FIRST, SECOND) == pytest.approx([0.1, 0.11, 0.1])
    assert paired(FIRST, APART) == []


def test_differences_have_student_s_interval() -> None:
    page = comparison_page([FIRST, SECOND])
    (row,) = tables(page)["In pairs with <first>"].rows
    # mean 10.33, standard deviation 0.577, t = 4.30 with two degrees of freedom
    assert row == ("second", "3", "+10.3", "+8.9 to +11.8", "3", "0")
    chart = next(chart for chart in page.charts if chart.name == "differences")
    assert chart.finding == "second is 10.3 points above <first>."
    assert "&lt;first&gt;" in render_page(page)


def test_runs_that_share_nothing_are_told_apart() -> None:
    page = comparison_page([FIRST, APART])
    notices = [part for part in page.sections[1].parts if isinstance(part, Notices)]
    assert "no split in common" in notices[0].notices[0].sentence
    assert render_page(page)


def test_noise_is_called_noise() -> None:
    page = comparison_page([FIRST, entry("alike", {"0": 0.52, "1": 0.58, "2": 0.71})])
    chart = next(chart for chart in page.charts if chart.name == "differences")
    assert chart.finding == "alike and <first> can't be told apart."


def test_settings_that_differ_are_listed() -> None:
    assert tables(comparison_page([FIRST, SECOND]))["What differs"].rows == (("lr", "0.1", "0.2"),)
    assert "What differs" not in tables(comparison_page([FIRST, APART]))
