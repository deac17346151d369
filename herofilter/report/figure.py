"""Figures as data: what is drawn, without how; two renderers turn it into a page and a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

Values = Sequence[float | None]
Label = str | float


@dataclass(frozen=True)
class Lines:
    """A curve through points; ``errors`` are how far the lines at them reach.

    They reach as far down as up, unless ``below`` says how far down. ``dashed`` is for what a
    curve is compared with, ``filled`` for the area below it, and ``colour`` the position of a
    colour that isn't that of the mark. An ``opacity`` below one is for curves in the background,
    which the legend leaves out.

    Example:
        >>> Lines("GCN", x=(0.1, 0.5), y=(90.0, 40.0)).kind
        'lines'
    """

    name: str
    x: Values
    y: Values
    errors: Values | None = None
    below: Values | None = None
    markers: bool = True
    dashed: bool = False
    filled: bool = False
    colour: int | None = None
    opacity: float = 1.0
    kind: ClassVar[str] = "lines"


@dataclass(frozen=True)
class Points:
    """Points that no line joins."""

    name: str
    x: Values
    y: Values
    kind: ClassVar[str] = "points"


@dataclass(frozen=True)
class Bars:
    """One bar per label; several marks in a panel stand side by side, or on each other.

    ``errors`` and ``below`` are as for :class:`Lines`. A number format such as ``.1f`` in
    ``written`` writes the values above the bars.
    """

    name: str
    labels: Sequence[Label]
    values: Values
    errors: Values | None = None
    below: Values | None = None
    written: str = ""
    colour: int | None = None
    kind: ClassVar[str] = "bars"


@dataclass(frozen=True)
class HeatMap:
    """Colours over a grid: ``z`` has a row per ``y`` with an entry per ``x``.

    A number format such as ``.2f`` in ``written`` writes the values into the grid, whose first row
    is then on top, as in a matrix.
    """

    x: Sequence[Label]
    y: Sequence[Label]
    z: Sequence[Values]
    label: str
    written: str = ""
    kind: ClassVar[str] = "heat map"


@dataclass(frozen=True)
class Surface:
    """A surface over a grid: ``z`` has a row per ``y`` with an entry per ``x``."""

    x: Sequence[float]
    y: Sequence[float]
    z: Sequence[Values]
    label: str
    kind: ClassVar[str] = "surface"


Mark = Lines | Points | Bars | HeatMap | Surface


@dataclass(frozen=True)
class Panel:
    """A pair of axes and what is drawn in them; a surface has a panel for itself.

    ``x_step`` is the distance of ticks; ``stacked`` puts bars of one label on each other.
    """

    title: str
    x: str
    y: str
    marks: tuple[Mark, ...]
    log_x: bool = False
    log_y: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_step: float | None = None
    stacked: bool = False

    @property
    def is_3d(self) -> bool:
        """Whether the panel needs a third axis."""
        return any(isinstance(mark, Surface) for mark in self.marks)


@dataclass(frozen=True)
class Figure:
    """Panels under one title, drawn in rows of at most ``columns``."""

    title: str
    panels: tuple[Panel, ...]
    columns: int = 3

    def first_named(self, panel: int) -> set[str]:
        """Return the names that a panel is the first to have: those that its legend explains.

        Example:
            >>> one = Panel("", "x", "y", (Points("a", (1.0,), (1.0,)),))
            >>> Figure("", (one, one)).first_named(0), Figure("", (one, one)).first_named(1)
            ({'a'}, set())
        """
        names = [{getattr(mark, "name", "") for mark in entry.marks} for entry in self.panels]
        return names[panel].difference({""}, *names[:panel])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of panels.

        Example:
            >>> panel = Panel("", "x", "y", ())
            >>> Figure("", (panel,) * 4).shape, Figure("", (panel,) * 2).shape
            ((2, 3), (1, 2))
        """
        width = max(1, min(self.columns, len(self.panels)))
        return max(1, -(-len(self.panels) // width)), width
