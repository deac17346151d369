"""All studies of a folder on one page, in one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Mark, Panel, Points
from herofilter.report.interval import count
from herofilter.report.page_parts import Chart, Charts, Page, Part, Section, Table, Words

_KINDS: dict[str, type[Lines | Points | Bars | HeatMap]] = {
    mark.kind: mark for mark in (Lines, Points, Bars, HeatMap)
}
_SURFACE = "surface"


def studies_page(studies: Sequence[Mapping[str, Any]]) -> Page:
    """Return the page of studies from what their ``data.json`` hold.

    A surface is drawn as a map of colours, which needs no third axis.
    """
    rows = tuple(
        (study["title"], study["reproduces"], study["finding"]["word"]) for study in studies
    )
    overview = Table(("study", "of the paper", "verdict"), rows, "All studies")
    return Page(
        "The paper made again",
        f"{count(len(studies), 'study')} of herofilter reproduce",
        (Section("verdicts", "What came out?", (overview,)), *map(_section, studies)),
    )


def _section(study: Mapping[str, Any]) -> Section:
    finding = study["finding"]
    words = [f"The paper: {study['claim']}", *finding["text"]]
    if study["quick"]:
        words.append("This is the quick form, which says nothing about the paper.")
    panels = study["figure"]["panels"]
    charts = tuple(
        Chart(
            f"{study['study']}-{number}",
            panel["title"] or study["title"],
            f"{finding['why']} Verdict: {finding['word']}.",
            Figure("", (_panel(panel),)),
        )
        for number, panel in enumerate(panels)
    )
    parts: list[Part] = [Words(tuple(words)), Charts(charts)]
    if finding["table"]:
        table = tuple(tuple(map(str, row)) for row in finding["table"])
        parts.append(Table(tuple(finding["titles"]), table))
    return Section(study["study"], study["title"], tuple(parts))


def _panel(panel: Mapping[str, Any]) -> Panel:
    marks = tuple(map(_mark, panel["marks"]))
    known = {key: value for key, value in panel.items() if key not in ("marks", "title")}
    for name in ("x_range", "y_range"):
        known[name] = None if known.get(name) is None else tuple(known[name])
    return Panel(title="", marks=marks, **known)


def _mark(mark: Mapping[str, Any]) -> Mark:
    known = {key: value for key, value in mark.items() if key != "kind"}
    if mark["kind"] == _SURFACE:
        return HeatMap(**known)
    return _KINDS[mark["kind"]](**known)
