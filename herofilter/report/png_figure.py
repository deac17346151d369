"""A figure as a PNG."""

import math
from pathlib import Path
from typing import Any

from herofilter.report.canvas import new_canvas, write_png
from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Mark, Panel, Points, Values
from herofilter.report.plotly_figure import COLOURS

_LONG_LABELS = 24


def png_figure(figure: Figure, path: Path) -> None:
    """Draw a figure with matplotlib and write it atomically."""
    rows, columns = figure.shape
    canvas = new_canvas(max(6.0, 4.6 * columns), 3.8 * rows)
    for number, panel in enumerate(figure.panels, 1):
        projection = {"projection": "3d"} if panel.is_3d else {}
        axes = canvas.add_subplot(rows, columns, number, **projection)
        _draw(canvas, axes, panel, legend=bool(figure.first_named(number - 1)))
    canvas.suptitle(figure.title, fontsize=11)
    write_png(canvas, path, dpi=110)


def _draw(canvas: Any, axes: Any, panel: Panel, legend: bool) -> None:
    bars = [mark for mark in panel.marks if isinstance(mark, Bars)]
    for position, mark in enumerate(panel.marks):
        colour = COLOURS[position % len(COLOURS)]
        _draw_mark(canvas, axes, mark, colour, bars, panel.stacked)
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.title.set_fontsize(10)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    if panel.x_range is not None:
        axes.set_xlim(panel.x_range)
    if panel.y_range is not None:
        axes.set_ylim(panel.y_range)
    if panel.is_3d:
        # the labels of three axes need room
        axes.set_box_aspect(None, zoom=0.82)
        return
    axes.spines[["top", "right"]].set_visible(False)
    if not any(isinstance(mark, HeatMap) for mark in panel.marks):
        axes.grid(alpha=0.25)
    if legend:
        # a line that runs behind the names leaves them readable; a bar would be hidden
        above = {"loc": "upper left", "ncols": 3} if bars else {}
        if bars:
            axes.margins(y=0.16)
        axes.legend(fontsize=8, framealpha=0.85, edgecolor="none", **above)


def _draw_mark(
    canvas: Any, axes: Any, mark: Mark, colour: str, bars: list[Bars], stacked: bool
) -> None:
    if isinstance(mark, Bars):
        before = bars[: bars.index(mark)] if stacked else []
        lower = [[value or 0.0 for value in other.values] for other in before]
        width = 0.8 / (1 if stacked else len(bars))
        shift = 0.0 if stacked else (bars.index(mark) - (len(bars) - 1) / 2) * width
        places = [place + shift for place in range(len(mark.labels))]
        base = [sum(part) for part in zip(*lower, strict=True)] if lower else 0
        axes.bar(
            places,
            _floats(mark.values),
            width,
            base,
            yerr=_reach(mark),
            color=colour,
            label=mark.name,
        )
        long = sum(len(str(label)) for label in mark.labels) > _LONG_LABELS
        axes.set_xticks(range(len(mark.labels)), list(map(str, mark.labels)))
        axes.tick_params(axis="x", labelsize=8)
        if long:
            axes.tick_params(axis="x", rotation=35)
            for label in axes.get_xticklabels():
                label.set_ha("right")
    elif isinstance(mark, Lines):
        axes.errorbar(
            _floats(mark.x),
            _floats(mark.y),
            _reach(mark),
            color=colour,
            label=mark.name if mark.opacity == 1 else "_",
            alpha=mark.opacity,
            linestyle="--" if mark.dashed else "-",
            marker="o" if mark.markers else "",
            markersize=4,
            capsize=2,
        )
        if mark.filled:
            axes.fill_between(_floats(mark.x), _floats(mark.y), color=colour, alpha=0.3)
    elif isinstance(mark, Points):
        axes.plot(_floats(mark.x), _floats(mark.y), "o", color=colour, label=mark.name)
    elif isinstance(mark, HeatMap):
        first = "upper" if mark.written else "lower"
        image = axes.imshow([_floats(row) for row in mark.z], aspect="auto", origin=first)
        for row, values in enumerate(mark.z if mark.written else ()):
            for column, value in enumerate(_floats(values)):
                axes.text(column, row, f"{value:{mark.written}}", ha="center", va="center")
        axes.set_xticks(*_ticks(mark.x))
        axes.set_yticks(*_ticks(mark.y))
        canvas.colorbar(image, ax=axes, label=mark.label)
    else:
        import numpy as np

        x, y = np.meshgrid(mark.x, mark.y)
        z = np.array([_floats(row) for row in mark.z])
        axes.plot_surface(x, y, z, cmap="viridis", rcount=60, ccount=60)
        axes.set_zlabel(mark.label)


def _reach(mark: Bars | Lines) -> Any:
    """Return how far the lines at the points reach: down, then up."""
    if mark.errors is None:
        return None
    return [_floats(mark.errors if mark.below is None else mark.below), _floats(mark.errors)]


def _ticks(labels: Any, most: int = 10) -> tuple[list[int], list[str]]:
    step = -(-len(labels) // most)
    places = list(range(0, len(labels), step))
    return places, [
        f"{labels[place]:g}" if isinstance(labels[place], float) else str(labels[place])
        for place in places
    ]


def _floats(values: Values) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]
