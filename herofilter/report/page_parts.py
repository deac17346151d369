"""What a page consists of, as data: sections with sentences, facts, tables and charts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from herofilter.report.figure import Bars, Figure, HeatMap, Label, Lines, Panel, Points, Surface

Cell = str
_DIGITS = 4
_NUMBER = re.compile(r"[+−<>±-]?\s?\d|[–—-]?$")


@dataclass(frozen=True)
class Table:
    """Rows of texts under titles; the first cell of a row says what the row is.

    Example:
        >>> Table(("graph", "edges", "why"), (("cora", "5,278", "as printed"),)).numeric
        (False, True, False)
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    kind: ClassVar[str] = "table"

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers, or nothing, and stand to the right."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.titles)
        found = [all(_NUMBER.match(cell) for cell in column) for column in columns]
        return (False, *found[1:])


@dataclass(frozen=True)
class Chart:
    """A figure with a sentence that says what it shows, and its data as a table.

    Args:
        name: of its place in the page; letters, digits and hyphens.
        title: what is drawn.
        finding: what a reader should see in it, in one sentence.
        figure: a single panel.
        wide: whether it takes the full width of the page.
        height: in pixels.
    """

    name: str
    title: str
    finding: str
    figure: Figure
    wide: bool = False
    height: int = 330
    kind: ClassVar[str] = "chart"

    @property
    def table(self) -> Table:
        """The numbers that are drawn."""
        return figure_table(self.figure)


@dataclass(frozen=True)
class Charts:
    """Charts that stand side by side where there is room."""

    charts: tuple[Chart, ...]
    kind: ClassVar[str] = "charts"


@dataclass(frozen=True)
class Words:
    """Paragraphs."""

    paragraphs: tuple[str, ...]
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Facts:
    """Pairs of a name and a value; a title above them, if there is one."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""
    folded: bool = False
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Tile:
    """A number that a reader should see first, with a word above and a remark below."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True)
class Tiles:
    """Some numbers in a row."""

    tiles: tuple[Tile, ...]
    kind: ClassVar[str] = "tiles"


@dataclass(frozen=True)
class Notice:
    """Something to know first.

    Args:
        severity: ``serious``, ``careful`` or ``good``.
        sentence: what was found.
        cure: what to do about it; may be empty.
        where: the section of the page with more on it; may be empty.
    """

    severity: str
    sentence: str
    cure: str = ""
    where: str = ""


@dataclass(frozen=True)
class Notices:
    """What to know first, the most serious on top."""

    notices: tuple[Notice, ...]
    kind: ClassVar[str] = "notices"


@dataclass(frozen=True)
class Code:
    """A command or a file, as it would be typed."""

    text: str
    title: str = ""
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Explorer:
    """The node explorer, which a script fills; ``lead`` says which nodes it knows."""

    lead: str
    data: dict[str, Any]
    kind: ClassVar[str] = "explorer"


Part = Table | Chart | Charts | Words | Facts | Tiles | Notices | Code | Explorer


@dataclass(frozen=True)
class Section:
    """A question and what answers it."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Page:
    """All of a page: title, a line below it, and the sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]

    @property
    def charts(self) -> list[Chart]:
        """All charts, in their order."""
        found: list[Chart] = []
        for part in (part for section in self.sections for part in section.parts):
            if isinstance(part, Charts):
                found += part.charts
            elif isinstance(part, Chart):
                found.append(part)
        return found

    @property
    def explorer(self) -> dict[str, Any] | None:
        """What the node explorer knows; None without one."""
        parts = (part for section in self.sections for part in section.parts)
        return next((part.data for part in parts if isinstance(part, Explorer)), None)


def figure_table(figure: Figure) -> Table:
    """Return the numbers of a figure of one panel: a column per curve, or a matrix.

    Example:
        >>> bars = Bars("GCN", ("texas", "cora"), (0.5, None))
        >>> figure_table(Figure("", (Panel("", "graph", "accuracy", (bars,)),))).rows
        (('texas', '0.5'), ('cora', ''))
    """
    (panel,) = figure.panels
    first = panel.marks[0] if panel.marks else None
    if isinstance(first, (HeatMap, Surface)):
        titles = (f"{panel.y} \\ {panel.x}", *map(_text, first.x))
        pairs = zip(first.y, first.z, strict=True)
        return Table(titles, tuple((_text(name), *map(_text, row)) for name, row in pairs))
    return _columns(panel)


def _columns(panel: Panel) -> Table:
    marks = [mark for mark in panel.marks if isinstance(mark, (Lines, Points, Bars))]
    places: dict[Label | None, None] = {}
    values: dict[str, dict[Label | None, str]] = {}
    for mark in marks:
        where: Sequence[Label | None] = mark.labels if isinstance(mark, Bars) else mark.x
        heights = mark.values if isinstance(mark, Bars) else mark.y
        places |= dict.fromkeys(where)
        title = mark.name or panel.y
        columns = {title: heights, **{f"{title}, {end}": at for end, at in _bounds(mark).items()}}
        for name, entries in columns.items():
            # marks of one name, such as bars in two colours, share a column
            known = {x: _text(y) for x, y in zip(where, entries, strict=True) if y is not None}
            values.setdefault(name, {}).update(known)
    order = list(places)
    if all(isinstance(place, (int, float)) for place in order):
        order.sort()
    rows = tuple((_text(x), *(column.get(x, "") for column in values.values())) for x in order)
    return Table((panel.x or "name", *values), rows)


def _bounds(mark: Lines | Points | Bars) -> dict[str, list[float | None]]:
    """Return the ends of the lines at the points of a mark, if it has any."""
    if isinstance(mark, Points) or mark.errors is None:
        return {}
    heights = mark.values if isinstance(mark, Bars) else mark.y
    below = mark.errors if mark.below is None else mark.below
    ends = list(zip(heights, below, mark.errors, strict=True))
    return {
        "from": [None if y is None or down is None else y - down for y, down, _ in ends],
        "to": [None if y is None or up is None else y + up for y, _, up in ends],
    }


def _text(value: Label | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
