"""A page as one HTML file: templates, script, style and packed data."""

import base64
import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from herofilter.files import write_text
from herofilter.report.page_parts import Page
from herofilter.report.plotly_figure import COLOURS, DARK_COLOURS, plotly_figure

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STATIC = Path(__file__).parent / "static"
_DIGITS = 6


@lru_cache(maxsize=1)
def templates() -> "Environment":
    """Return the environment of all templates; every value is escaped, but in Markdown."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent / "templates")
    # all but Markdown, which is no HTML, is escaped
    found = Environment(  # nosec B701
        loader=loader,
        autoescape=lambda name: name is None or not name.endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["inline"] = inline
    return found


def static_bytes(name: str) -> bytes:
    """Return a script or style of this package; a large one lies compressed in its folder."""
    packed = STATIC / f"{name}.xz"
    if packed.is_file():
        # not every Python has it, and only pages with surfaces need it
        import lzma

        return lzma.decompress(packed.read_bytes())
    return (STATIC / name).read_bytes()


def inline(name: str) -> "Markup":
    """Return a script or style of this package to stand in a page as it is."""
    from markupsafe import Markup

    text = static_bytes(name).decode()
    # either would end the element before its end
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError(f"{name} must not hold the end of a script or style")
    return Markup(text)  # nosec B704 - files of this package


def write_page(path: Path, page: Page) -> None:
    """Write a page as one file that needs no network."""
    write_text(path, render_page(page))


def render_page(page: Page, template: str = "report.html", **known: Any) -> str:
    """Return a page as HTML; a ``template`` other than the report's may want to know more."""
    figures = {}
    for chart in page.charts:
        drawn = plotly_figure(chart.figure)
        drawn["layout"]["height"] = chart.height
        figures[chart.name] = drawn
    data = {
        "figures": figures,
        "explorer": page.explorer,
        "colours": list(COLOURS),
        "dark": list(DARK_COLOURS),
    }
    return templates().get_template(template).render(page=page, data=pack(data), **known)


def pack(value: Any) -> str:
    """Return a value as compressed JSON in base64; floats keep six digits.

    Example:
        >>> unpacked = gzip.decompress(base64.b64decode(pack({"share": 1 / 3})))
        >>> json.loads(unpacked)
        {'share': 0.333333}
    """
    text = json.dumps(_short(value), separators=(",", ":"), allow_nan=False)
    # without the time, so that the same run gives the same file
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _short(entry) for key, entry in value.items()}
    return [_short(entry) for entry in value] if isinstance(value, (list, tuple)) else value
