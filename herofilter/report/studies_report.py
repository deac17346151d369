"""All studies of a folder on one page, in one file."""

from collections.abc import Mapping, Sequence
from typing import Any

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Mark, Panel, Points, Surface
from herofilter.report.interval import count
from herofilter.report.page_parts import Chart, Charts, Code, Page, Part, Section, Table, Words

Kinds = Mapping[str, type[Lines | Points | Bars | HeatMap | Surface]]

_KINDS: Kinds = {mark.kind: mark for mark in (Lines, Points, Bars, HeatMap, Surface)}
_FLAT: Kinds = {**_KINDS, Surface.kind: HeatMap}
_HEIGHT, _HEIGHT_3D = 330, 430


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


def study_page(study: Mapping[str, Any]) -> Page:
    """Return the page of one study from what its ``data.json`` holds; a surface can be turned."""
    making = Code(study["command"], "The command to repeat it")
    return Page(
        study["title"],
        f"{study['reproduces']}: {study['finding']['word']}",
        (
            _section(study, _KINDS, "What came out?"),
            Section("making", "How was it made?", (making,)),
        ),
    )


def _section(study: Mapping[str, Any], kinds: Kinds = _FLAT, title: str = "") -> Section:
    finding = study["finding"]
    outcome = f"{finding['why']} Verdict: {finding['word']}."
    words = [_plain(f"The paper: {study['claim']}"), *map(_plain, finding["text"])]
    panels = study["figure"]["panels"]
    # said once, above all charts or below a single one
    alone = len(panels) == 1
    if not alone:
        words.append(outcome)
    if study["quick"]:
        words.append("This is the quick form, which says nothing about the paper.")
    charts = tuple(
        Chart(
            f"{study['study']}-{number}",
            panel["title"] or study["title"],
            outcome if alone else _axes(panel),
            Figure("", (drawn,)),
            height=_HEIGHT_3D if drawn.is_3d else _HEIGHT,
        )
        for number, (panel, drawn) in enumerate((panel, _panel(panel, kinds)) for panel in panels)
    )
    parts: list[Part] = [Words(tuple(words)), Charts(charts)]
    if finding["table"]:
        table = tuple(tuple(map(str, row)) for row in finding["table"])
        parts.append(Table(tuple(finding["titles"]), table))
    return Section(study["study"], title or study["title"], tuple(parts))


def _axes(panel: Mapping[str, Any]) -> str:
    said = f"{panel['y'] or panel['title']} by {panel['x']}."
    return said[:1].upper() + said[1:]


def _panel(panel: Mapping[str, Any], kinds: Kinds) -> Panel:
    marks = tuple(_mark(mark, kinds) for mark in panel["marks"])
    known = {key: value for key, value in panel.items() if key not in ("marks", "title")}
    for name in ("x_range", "y_range"):
        known[name] = None if known.get(name) is None else tuple(known[name])
    return Panel(title="", marks=marks, **known)


def _mark(mark: Mapping[str, Any], kinds: Kinds) -> Mark:
    known = {key: value for key, value in mark.items() if key != "kind"}
    return kinds[mark["kind"]](**known)


def _plain(text: str) -> str:
    """Return a sentence of a finding without Markdown's marks."""
    return text.replace("*", "").replace("`", "")
