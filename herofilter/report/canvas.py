"""What pictures are drawn on: matplotlib, an optional part."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from herofilter.errors import MissingExtraError
from herofilter.files import atomic_path

INSTALL_PICTURES = "pip install 'herofilter[pictures]'"


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def check_extra() -> None:
    """Raise a :class:`MissingExtraError` unless matplotlib is installed."""
    if not can_draw():
        raise MissingExtraError("pictures", "drawing a picture")


def new_canvas(width: float, height: float) -> Any:
    """Return an empty matplotlib figure, in inches, that needs no display."""
    check_extra()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def write_png(figure: Any, path: Path, dpi: int = 130) -> None:
    """Write a matplotlib figure as a PNG that appears complete or not at all."""
    with atomic_path(path) as scratch:
        figure.savefig(scratch, format="png", dpi=dpi)
