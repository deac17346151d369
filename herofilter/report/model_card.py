"""The model card: what a report says, as Markdown beside the model."""

from typing import Any

from herofilter.report.page import templates
from herofilter.report.page_parts import Facts, Tiles, Words
from herofilter.report.sections.graph import graph_section
from herofilter.report.sections.making import making_section
from herofilter.report.sections.notices import all_notices
from herofilter.report.sections.quality import quality_section
from herofilter.report.subject import Subject


def model_card(subject: Subject) -> str:
    """Return the card; everything in it is also in the report."""
    quality = quality_section(subject).parts
    tiles = [tile for part in quality if isinstance(part, Tiles) for tile in part.tiles]
    opening = next(part for part in quality if isinstance(part, Words)).paragraphs[0]
    words = next(part for part in graph_section(subject).parts if isinstance(part, Words))
    made = next(part for part in making_section(subject).parts if isinstance(part, Facts))
    remarks = [
        (tile.name, f"{tile.value} ({tile.remark})" if tile.remark else tile.value)
        for tile in tiles
    ]
    return (
        templates()
        .get_template("model_card.md")
        .render(
            _plain(
                {
                    "title": f"{subject.model} on {subject.graph}",
                    "opening": opening,
                    "notices": [vars(notice) for notice in all_notices(subject)],
                    "quality": remarks,
                    "graph": " ".join(words.paragraphs),
                    "making": made.pairs,
                    "command": subject.record.command,
                }
            )
        )
    )


def _plain(value: Any) -> Any:
    """Return the same with texts that Markdown shows as they are, on one line each."""
    if isinstance(value, str):
        for letter, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("`", "&#96;")):
            value = value.replace(letter, shown)
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value]
