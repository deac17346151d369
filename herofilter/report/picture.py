"""Pictures of results."""

from pathlib import Path
from typing import Any

from herofilter.report.canvas import new_canvas, write_png

COLOURS = {"mlp": "#8c8c8c", "gcn": "#d1495b", "herofilter": "#00798c"}
TITLES = {"mlp": "MLP", "gcn": "GCN", "herofilter": "HeroFilter"}


def demo_picture(result: dict[str, Any], path: Path) -> None:
    """Draw accuracy and homophily of the demo against heterophily, as a PNG."""
    levels = result["levels"]
    heterophily = [level["heterophily"] for level in levels]
    figure = new_canvas(10, 4)
    left, right = figure.subplots(1, 2)
    for name, colour in COLOURS.items():
        entries = [level["accuracy"][name] for level in levels]
        left.errorbar(
            heterophily,
            [100 * entry["mean"] for entry in entries],
            [100 * entry["std"] for entry in entries],
            color=colour,
            label=TITLES[name],
            marker="o",
            markersize=4,
            capsize=2,
            linewidth=2 if name == "herofilter" else 1.3,
        )
    left.set(xlabel="heterophily of the graph", ylabel="test accuracy (%)", ylim=(0, 102))
    left.legend(frameon=False, loc="lower left")
    for key, label, colour in (
        ("edge_homophily", "edges", "#d1495b"),
        ("patch_homophily", "patches", "#00798c"),
    ):
        values = [level[key] for level in levels]
        right.plot(heterophily, values, color=colour, label=label, marker="o", markersize=4)
    right.set(xlabel="heterophily of the graph", ylabel="share with the same label", ylim=(0, 1.02))
    right.legend(frameon=False, loc="upper right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    write_png(figure, path)
