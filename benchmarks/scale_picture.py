"""The scalability figure: seconds against nodes and against the patch size."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from herofilter.report.canvas import new_canvas, write_png

COLOURS = {"patcher": "#edae49", "epoch": "#00798c", "inference": "#d1495b"}
TITLES = {"patcher": "patcher", "epoch": "one epoch", "inference": "inference, all nodes"}


def scale_picture(
    by_size: Mapping[str, Sequence[Mapping[str, Any]]],
    by_patch: Mapping[str, Sequence[Mapping[str, Any]]],
    slopes: Mapping[str, float | None],
    path: Path,
) -> None:
    """Draw seconds of every stage, as a PNG.

    Args:
        by_size: the lines of each stage, in the order of nodes.
        by_patch: the lines of each stage on one graph, in the order of patch sizes.
        slopes: of the fits in the first panel.
        path: of the picture.
    """
    figure = new_canvas(10, 4)
    left, right = figure.subplots(1, 2)
    for axes, lines, key in ((left, by_size, "nodes"), (right, by_patch, "patch_size")):
        for stage, rows in lines.items():
            label = TITLES[stage]
            if key == "nodes" and slopes[stage] is not None:
                label += f", slope {slopes[stage]:.2f}"
            axes.plot(
                [row[key] for row in rows],
                [row["seconds"] for row in rows],
                color=COLOURS[stage],
                label=label,
                marker="o",
                markersize=4,
            )
        if any(lines.values()):
            # an axis without anything has no logarithm
            axes.set_yscale("log")
            axes.set_xscale("log", base=10 if key == "nodes" else 2)
        axes.set_ylabel("seconds")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        if any(lines.values()):
            axes.legend(frameon=False, loc="upper left")
    sizes = sorted({row["nodes"] for rows in by_patch.values() for row in rows})
    at = f" of {sizes[0]:,} nodes" if sizes else ""
    patches = sorted({row["patch_size"] for rows in by_size.values() for row in rows})
    left.set_xlabel("nodes" + (f", p = {patches[0]}" if patches else ""))
    right.set_xlabel(f"patch size p, a graph{at}")
    write_png(figure, path)
