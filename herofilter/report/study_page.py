"""The files of a study: data, pictures, the finding in words, and the index of all studies."""

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from herofilter.files import atomic_path, write_json, write_text
from herofilter.report.figure import Figure
from herofilter.report.page import render_page, static_bytes, write_page
from herofilter.report.png_figure import png_figure
from herofilter.report.studies_report import studies_page, study_page

if TYPE_CHECKING:
    from herofilter.reproduce.studies.study import Summary
    from herofilter.reproduce.studies.verdict import Finding

# of which only the larger one can draw surfaces
SCRIPT, SCRIPT_3D = "plotly-cartesian.min.js", "plotly.min.js"
_QUICK = (
    "This is the quick form: tiny graphs and few epochs, to see that everything works. It says "
    "nothing about the paper."
)


class Described(Protocol):
    """What a page says of a study before its results."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reproduces(self) -> str: ...
    @property
    def claim(self) -> str: ...


def write_study(
    folder: Path, study: Described, summary: "Summary", command: str, quick: bool
) -> dict[str, Any]:
    """Write the five files of a study into ``folder/name`` and return what data.json holds."""
    rows, figure, finding = summary
    place = folder / study.name
    place.mkdir(parents=True, exist_ok=True)
    result = {
        "study": study.name,
        "title": study.title,
        "reproduces": study.reproduces,
        "claim": study.claim,
        "command": command,
        "quick": quick,
        "finding": dataclasses.asdict(finding),
        "rows": rows,
        "figure": figure_data(figure),
    }
    write_text(place / "data.csv", rows_csv(rows))
    png_figure(figure, place / "figure.png")
    write_text(place / "finding.md", finding_markdown(study, finding, command, quick))
    script = SCRIPT_3D if any(panel.is_3d for panel in figure.panels) else SCRIPT
    page = render_page(study_page(result), "figure.html", script=f"../{script}")
    write_text(place / "figure.html", page)
    _share_script(folder, script)
    # last, because the index lists the studies that have it
    write_json(place / "data.json", result)
    return result


def write_index(folder: Path, names: Sequence[str]) -> None:
    """Write index.html, which links every study that ``folder`` has, in the order of ``names``.

    ``report.html`` beside it has all of them in one file.
    """
    studies = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in (folder / name / "data.json" for name in names)
        if path.is_file()
    ]
    if studies:
        page = studies_page(studies)
        write_text(folder / "index.html", render_page(page, "index.html", studies=studies))
        write_page(folder / "report.html", page)


def finding_markdown(study: Described, finding: "Finding", command: str, quick: bool) -> str:
    """Return the finding as Markdown; its last word is the verdict."""
    table = ""
    if finding.table:
        lines = [finding.titles, ["---"] * len(finding.titles), *finding.table]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    blocks = [
        f"# {study.title}",
        f"Reproduces: {study.reproduces}. Written by `{command}`.",
        f"The paper: {study.claim}",
        *[_QUICK] * quick,
        *finding.text,
        table,
        f"{finding.why} Verdict: **{finding.word}**",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def rows_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a list takes one field, its entries separated by spaces.

    Example:
        >>> print(rows_csv([{"graph": "texas", "values": [0.5, 0.75]}]), end="")
        graph,values
        texas,0.5 0.75
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_field(row.get(name)) for name in names])
    return text.getvalue()


def figure_data(figure: Figure) -> dict[str, Any]:
    """Return a figure as plain dictionaries, each mark with its kind."""
    plain = dataclasses.asdict(figure)
    for panel, entry in zip(figure.panels, plain["panels"], strict=True):
        for mark, values in zip(panel.marks, entry["marks"], strict=True):
            values["kind"] = mark.kind
    return plain


def _field(value: Any) -> Any:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _share_script(folder: Path, name: str) -> None:
    """Put one copy of a script beside the index, for all pages."""
    content, target = static_bytes(name), folder / name
    if not target.is_file() or target.stat().st_size != len(content):
        with atomic_path(target) as scratch:
            scratch.write_bytes(content)
