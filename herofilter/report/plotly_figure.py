"""A figure in plotly.js's JSON, for an interactive page."""

import html
import math
from collections.abc import Sequence
from typing import Any

from herofilter.report.figure import (
    Bars,
    Figure,
    HeatMap,
    Label,
    Lines,
    Mark,
    Panel,
    Points,
    Values,
)

COLOURS = ("#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057", "#8d96a3", "#9c6644", "#7b2cbf")
# the same on a dark page
DARK_COLOURS = (
    "#35b6c9",
    "#f0778a",
    "#f4c15d",
    "#8fcbab",
    "#9fb4d6",
    "#a9b1bd",
    "#cf9a76",
    "#b98aee",
)
SCALE = "Viridis"
_GAP = 0.09
_MIDDLE = {"insidetextanchor": "middle", "textangle": 0}
_PANEL_HEIGHT = 400

Json = dict[str, Any]


def plotly_figure(figure: Figure) -> Json:
    """Return ``data`` and ``layout`` for ``Plotly.newPlot``.

    Example:
        >>> panel = Panel("accuracy", "level", "%", (Lines("GCN", (0.1,), (90.0,)),))
        >>> plotly_figure(Figure("demo", (panel,)))["data"][0]["type"]
        'scatter'
    """
    rows, columns = figure.shape
    layout: Json = {
        "height": _PANEL_HEIGHT * rows,
        "showlegend": True,
        "annotations": [],
        "margin": {"t": 50, "r": 20},
    }
    if any(isinstance(mark, Bars) for panel in figure.panels for mark in panel.marks):
        layout["barmode"] = "stack" if any(panel.stacked for panel in figure.panels) else "group"
    data: list[Json] = []
    for number, panel in enumerate(figure.panels):
        across, down = number % columns, number // columns
        x = _domain(across, columns)
        bottom, top = _domain(rows - 1 - down, rows)
        if panel.title:
            layout["annotations"].append(_title(panel.title, sum(x) / 2, top))
        suffix = "" if number == 0 else str(number + 1)
        if panel.is_3d:
            layout[f"scene{suffix}"] = _scene(panel, x, [bottom, top])
        else:
            layout[f"xaxis{suffix}"] = {
                **_axis(panel.x, x, panel.log_x, f"y{suffix}", panel.x_range),
                **_names(panel, "x"),
                **({} if panel.x_step is None else {"dtick": panel.x_step}),
            }
            layout[f"yaxis{suffix}"] = {
                **_axis(panel.y, [bottom, top], panel.log_y, f"x{suffix}", panel.y_range),
                **_names(panel, "y"),
            }
        scale = {"x": x[1], "y": (bottom + top) / 2, "len": 0.8 * (top - bottom)}
        named = figure.first_named(number)
        data += [
            _trace(mark, position, suffix, scale, named)
            for position, mark in enumerate(panel.marks)
        ]
    return {"data": data, "layout": layout}


def _domain(position: int, count: int) -> list[float]:
    width = (1 - _GAP * (count - 1)) / count
    start = position * (width + _GAP)
    return [start, min(1.0, start + width)]


def _title(text: str, x: float, y: float) -> Json:
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "yanchor": "bottom"}
    return {"text": _text(text), "showarrow": False, **place}


def _axis(
    title: str, domain: list[float], log: bool, anchor: str, limits: tuple[float, float] | None
) -> Json:
    # powers of ten, not prefixes such as µ
    kind: Json = {"type": "log", "exponentformat": "power"} if log else {}
    if limits is not None:
        # plotly counts the ends of a logarithmic axis in powers of ten
        kind["range"] = [math.log10(end) if log else end for end in limits]
    return {"title": {"text": _text(title)}, "domain": domain, "anchor": anchor, **kind}


def _names(panel: Panel, axis: str) -> Json:
    """Return what an axis of names needs: plotly would read "2024-01" as a date."""
    labels: list[Any] = []
    reverse = False
    for mark in panel.marks:
        if isinstance(mark, Bars) and axis == "x":
            labels += mark.labels
        elif isinstance(mark, HeatMap):
            labels += mark.x if axis == "x" else mark.y
            reverse |= axis == "y" and bool(mark.written)
    named = any(isinstance(label, str) for label in labels)
    return {
        **({"type": "category"} if named else {}),
        **({"autorange": "reversed"} if reverse else {}),
    }


def _text(text: str) -> str:
    """Return a text that plotly shows as it is, since plotly reads some tags in its texts.

    Example:
        >>> _text("<b>a & b</b>")
        '&lt;b&gt;a &amp; b&lt;/b&gt;'
    """
    return html.escape(text, quote=False)


def _labels(labels: Sequence[Label]) -> list[Label]:
    return [_text(label) if isinstance(label, str) else label for label in labels]


def _scene(panel: Panel, x: list[float], y: list[float]) -> Json:
    label = next(mark.label for mark in panel.marks if not isinstance(mark, (Lines, Points, Bars)))
    titles = zip("xyz", (panel.x, panel.y, label), strict=True)
    axes = {f"{axis}axis": {"title": {"text": _text(title)}} for axis, title in titles}
    return {"domain": {"x": x, "y": y}, **axes}


def _trace(mark: Mark, position: int, suffix: str, scale: Json, named: set[str]) -> Json:
    chosen = getattr(mark, "colour", None)
    colour = COLOURS[(position if chosen is None else chosen) % len(COLOURS)]
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    if isinstance(mark, Bars):
        return {
            "type": "bar",
            "name": _text(mark.name),
            "x": _labels(mark.labels),
            "y": _plain(mark.values),
            "marker": {"color": colour},
            "error_y": _errors(mark.errors, mark.below),
            **_written(mark),
            "legendgroup": mark.name,
            "showlegend": mark.name in named,
            **axes,
        }
    if isinstance(mark, (Lines, Points)):
        joined, opacity = isinstance(mark, Lines), getattr(mark, "opacity", 1.0)
        shown = {(True, True): "lines+markers", (True, False): "lines"}
        return {
            "type": "scatter",
            "mode": shown.get((joined, getattr(mark, "markers", True)), "markers"),
            "name": _text(mark.name),
            "x": _plain(mark.x),
            "y": _plain(mark.y),
            ("line" if joined else "marker"): {"color": colour, **_style(mark)},
            **({"fill": "tozeroy"} if isinstance(mark, Lines) and mark.filled else {}),
            "error_y": _errors(mark.errors, mark.below) if isinstance(mark, Lines) else {},
            "legendgroup": mark.name,
            "showlegend": mark.name in named and opacity == 1,
            **({"opacity": opacity} if opacity < 1 else {}),
            **axes,
        }
    grid = {
        "x": _labels(mark.x),
        "y": _labels(mark.y),
        "z": [_plain(row) for row in mark.z],
        "colorscale": SCALE,
    }
    if isinstance(mark, HeatMap):
        bar = {**scale, "thickness": 10, "title": {"text": _text(mark.label)}}
        written = {"texttemplate": f"%{{z:{mark.written}}}"} if mark.written else {}
        return {"type": "heatmap", "colorbar": bar, **written, **grid, **axes}
    return {"type": "surface", "scene": f"scene{suffix}", "showscale": False, **grid}


def _style(mark: Lines | Points) -> Json:
    return {"dash": "dash"} if isinstance(mark, Lines) and mark.dashed else {}


def _written(mark: Bars) -> Json:
    if not mark.written:
        return {}
    return {"texttemplate": f"%{{y:{mark.written}}}", "textposition": "inside", **_MIDDLE}


def _errors(values: Values | None, below: Values | None) -> Json:
    if values is None:
        return {}
    lower = {} if below is None else {"symmetric": False, "arrayminus": _plain(below)}
    return {"type": "data", "array": _plain(values), **lower}


def _plain(values: Values) -> list[float | None]:
    """Return the values with None, which JSON has, in place of NaN, which it lacks."""
    return [None if value is None or not math.isfinite(value) else float(value) for value in values]
