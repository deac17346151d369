import math
from dataclasses import replace
from pathlib import Path

import pytest

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Panel, Points, Surface
from herofilter.report.plotly_figure import COLOURS, plotly_figure
from herofilter.report.png_figure import png_figure

LINES = Lines("a", (1.0, 2.0), (3.0, math.nan), errors=(0.1, 0.2))
BARS = (Bars("a", ("x", "y"), (1.0, None)), Bars("b", ("x", "y"), (2.0, 3.0), errors=(0.1, 0.1)))
GRID = ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))
PANELS = (
    Panel("lines", "x", "y", (LINES, Points("p", (1.0,), (2.0,))), log_x=True, log_y=True),
    Panel("bars", "", "%", BARS),
    Panel("map", "x", "y", (HeatMap((0, 1, 2), ("u", "v"), GRID, "z"),)),
    Panel("surface", "x", "y", (Surface((0.0, 1.0, 2.0), (0.0, 1.0), GRID, "z"),)),
)


def test_plotly_has_a_trace_per_mark_on_its_own_axes() -> None:
    drawn = plotly_figure(Figure("all", PANELS))
    kinds = [trace["type"] for trace in drawn["data"]]
    assert kinds == ["scatter", "scatter", "bar", "bar", "heatmap", "surface"]
    assert drawn["data"][0]["y"] == [3.0, None]
    assert drawn["data"][1]["mode"] == "markers"
    assert drawn["data"][4]["xaxis"] == "x3"
    assert drawn["data"][5]["scene"] == "scene4"
    # a legend explains each name once: "a" of the lines isn't repeated for the bars
    shown = [trace["name"] for trace in drawn["data"] if trace.get("showlegend")]
    assert shown == ["a", "p", "b"]
    layout = drawn["layout"]
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "log"
    assert layout["scene4"]["zaxis"]["title"]["text"] == "z"
    # the fourth panel is below the first
    assert layout["scene4"]["domain"]["x"] == layout["xaxis"]["domain"]
    assert layout["scene4"]["domain"]["y"][1] < layout["yaxis"]["domain"][0]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_picture_shows_what_the_panel_has(panel: Panel, tmp_path: Path) -> None:
    empty = Panel(panel.title, panel.x, panel.y, ())
    sizes = []
    for number, shown in enumerate((panel, empty)):
        png_figure(Figure("one", (shown,)), tmp_path / f"{number}.png")
        sizes.append((tmp_path / f"{number}.png").read_bytes())
    assert sizes[0].startswith(b"\x89PNG")
    assert sizes[0] != sizes[1]


def test_texts_are_shown_as_they_are_and_names_are_no_dates() -> None:
    bars = Bars("<b>a</b>", ("2024-01", "<i>"), (1.0, 2.0))
    drawn = plotly_figure(Figure("", (Panel("", "x & y", "", (bars,)),)))
    assert drawn["data"][0]["name"] == "&lt;b&gt;a&lt;/b&gt;"
    assert drawn["data"][0]["x"] == ["2024-01", "&lt;i&gt;"]
    assert drawn["layout"]["xaxis"]["type"] == "category"
    assert drawn["layout"]["xaxis"]["title"]["text"] == "x &amp; y"
    assert drawn["layout"]["annotations"] == []


def test_intervals_that_reach_further_to_one_side() -> None:
    marks = (
        Lines("a", (1.0,), (2.0,), errors=(0.3,), below=(0.1,), dashed=True, filled=True),
        Bars("b", ("u",), (2.0,), errors=(0.3,), below=(0.1,), written=".1f", colour=5),
    )
    line, bar = plotly_figure(Figure("", (Panel("", "x", "y", marks, stacked=True),)))["data"]
    for trace in (line, bar):
        assert trace["error_y"]["array"] == [0.3]
        assert trace["error_y"]["arrayminus"] == [0.1]
    assert line["line"]["dash"] == "dash"
    assert line["fill"] == "tozeroy"
    assert bar["texttemplate"] == "%{y:.1f}"
    assert bar["marker"]["color"] == COLOURS[5]


def test_axes_have_their_ends_and_steps() -> None:
    line = Lines("a", (1.0, 10.0), (2.0, 3.0))
    panel = Panel("", "x", "y", (line,), log_x=True, x_range=(1, 100), y_range=(0, 5), x_step=2)
    layout = plotly_figure(Figure("", (panel,)))["layout"]
    # in powers of ten on a logarithmic axis
    assert layout["xaxis"]["range"] == [0, 2]
    assert layout["yaxis"]["range"] == [0, 5]
    assert layout["xaxis"]["dtick"] == 2


def test_stacked_bars_and_matrices_are_drawn_as_pictures(tmp_path: Path) -> None:
    bars = (Bars("a", ("u", "v"), (1.0, None)), Bars("b", ("u", "v"), (2.0, 3.0)))
    grid = HeatMap(("p", "q"), ("u", "v"), ((1.0, 2.0), (3.0, 4.0)), "z", written=".0f")
    sizes = []
    for number, panel in enumerate(
        (
            Panel("", "", "", bars),
            Panel("", "", "", bars, stacked=True),
            Panel("", "", "", (grid,)),
            Panel("", "", "", (replace(grid, written=""),)),
        )
    ):
        png_figure(Figure("one", (panel,)), tmp_path / f"{number}.png")
        sizes.append((tmp_path / f"{number}.png").read_bytes())
    assert len(set(sizes)) == 4
