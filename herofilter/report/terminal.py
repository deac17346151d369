"""The terminal: a console that shows foreign texts harmlessly, and tables no wider than it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from herofilter.harmless import harmless

_ENDLESS = 10_000


class Console(rich.console.Console):
    """Rich's console, but what is printed can't control the terminal, whoever wrote it.

    Nor is anything in it taken for rich's markup or for the name of an emoji.
    """

    def __init__(
        self,
        *,
        file: IO[str] | None = None,
        stderr: bool = False,
        quiet: bool = False,
        width: int | None = None,
        force_terminal: bool | None = None,
    ) -> None:
        super().__init__(
            file=file,
            stderr=stderr,
            quiet=quiet,
            width=width,
            force_terminal=force_terminal,
            markup=False,
            emoji=False,
        )

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # those with a control are rich's own
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


def in_parts(
    build: Callable[[Sequence[str]], Table], columns: Sequence[str], console: rich.console.Console
) -> Iterator[Table]:
    """Yield one table or several, each with as many of the columns as the terminal has room for.

    Args:
        build: makes a table of some columns, beside the first one that all have.
        columns: the names of all.
        console: where they are printed.

    Example:
        >>> def build(names):
        ...     table = Table("graph", *names)
        ...     return table
        >>> wide = [f"column {number}" for number in range(20)]
        >>> len(list(in_parts(build, wide, Console(width=80))))
        4
    """
    start = 0
    while start < len(columns):
        stop = start + 1
        while stop < len(columns) and _fits(build(columns[start : stop + 1]), console):
            stop += 1
        yield build(columns[start:stop])
        start = stop


def _fits(table: Table, console: rich.console.Console) -> bool:
    # on a terminal without end, since a measure is never more than the width
    endless = console.options.update(width=_ENDLESS)
    return console.measure(table, options=endless).maximum <= console.width
