"""The model card: what a report says, as Markdown beside the model."""

from typing import Any

from herofilter.report.page import templates
from herofilter.report.page_parts import Facts, Notices, Page, Part, Tiles, Words


def model_card(page: Page, command: str, alone: bool = False) -> str:
    """Return the card of a report: its notices, numbers and facts.

    Args:
        page: the report.
        command: that repeats the training; may be empty.
        alone: whether the card lies without the report.
    """
    first, quality, graph, *_, making = (section.parts for section in page.sections)
    tiles = [tile for part in quality if isinstance(part, Tiles) for tile in part.tiles]
    made = next(part for part in making if isinstance(part, Facts))
    remarks = [
        (tile.name, f"{tile.value} ({tile.remark})" if tile.remark else tile.value)
        for tile in tiles
    ]
    values = {
        "title": page.title,
        "opening": _words(quality)[0],
        "notices": [
            vars(notice) for part in first if isinstance(part, Notices) for notice in part.notices
        ],
        "quality": remarks,
        "graph": " ".join(_words(graph)),
        "making": made.pairs,
        "command": command,
    }
    return templates().get_template("model_card.md").render(_plain(values), alone=alone)


def _words(parts: tuple[Part, ...]) -> tuple[str, ...]:
    return next(part for part in parts if isinstance(part, Words)).paragraphs


def _plain(value: Any) -> Any:
    """Return the same with texts that Markdown shows as they are, on one line each."""
    if isinstance(value, str):
        for letter, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("`", "&#96;")):
            value = value.replace(letter, shown)
        return " ".join(value.split())
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value]
