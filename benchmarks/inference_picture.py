"""The runtime figure: seconds of inference of every model, one panel per graph."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from herofilter.report.canvas import new_canvas, write_png

OURS = {"herofilter": "#00798c", "fast-herofilter": "#edae49"}
OTHERS = "#8c8c8c"


def inference_picture(graphs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Draw a bar for every model that ran, fastest first, as a PNG.

    Args:
        graphs: the rows of each graph.
        path: of the picture.
    """
    most = max((len(rows) for rows in graphs.values()), default=1)
    width = 3.6 * max(len(graphs), 1)
    figure = new_canvas(width, 1.2 + 0.22 * most)
    panels = figure.subplots(1, max(len(graphs), 1), squeeze=False)[0]
    for axes, (graph, rows) in zip(panels, graphs.items(), strict=False):
        ran = sorted(
            (row for row in rows if row["why"] is None), key=lambda row: float(row["seconds"])
        )
        names = [row["model"] for row in ran]
        colours = [OURS.get(name, OTHERS) for name in names]
        axes.barh(names, [row["seconds"] for row in ran], color=colours)
        axes.invert_yaxis()
        if ran:
            axes.set_xscale("log")
        left_out = len(rows) - len(ran)
        note = f", {left_out} couldn't run" if left_out else ""
        axes.set(xlabel="seconds for all nodes", title=f"{graph}{note}")
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.25)
    write_png(figure, path)
