import math
from pathlib import Path

import pytest

from herofilter.report.figure import Bars, Figure, HeatMap, Lines, Panel, Points, Surface
from herofilter.report.plotly_figure import plotly_figure
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
