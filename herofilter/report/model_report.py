"""The report of a model or run: one page, and the model card with the same facts."""

from pathlib import Path

from herofilter.files import write_text
from herofilter.report.interval import count
from herofilter.report.model_card import model_card
from herofilter.report.page import write_page
from herofilter.report.page_parts import Page
from herofilter.report.run_subject import read_subject
from herofilter.report.sections.filters import filter_section
from herofilter.report.sections.graph import graph_section
from herofilter.report.sections.making import making_section
from herofilter.report.sections.nodes import node_section
from herofilter.report.sections.notices import notice_section
from herofilter.report.sections.quality import quality_section
from herofilter.report.subject import Subject
from herofilter.training.predictor import Predictor

REPORT, CARD = "report.html", "MODEL_CARD.md"


def write_report(
    folder: Path,
    split: int | None = None,
    predictor: Predictor | None = None,
    page: Path | None = None,
) -> Path:
    """Write ``report.html`` and ``MODEL_CARD.md`` into a model folder or run folder.

    Args:
        folder: a model folder or a run folder.
        split: which split of a run to show; the first one by default.
        predictor: the folder's model, if it is in memory already.
        page: where to write the page, if not into the folder.

    Returns:
        the path of the page.
    """
    subject = read_subject(folder, split, predictor)
    path = folder / REPORT if page is None else page
    report = report_page(subject)
    write_page(path, report)
    write_text(folder / CARD, model_card(report, subject.record.command))
    return path


def report_seconds(num_nodes: int) -> float:
    """Return about how long a report takes, for those who have to end in time."""
    return 3.0 + 4e-5 * num_nodes


def report_page(subject: Subject) -> Page:
    """Return the page of a model: six questions and their answers."""
    splits = len(subject.record.splits)
    sizes = [count(subject.num_nodes, "node"), count(len(subject.classes), "class")]
    sizes += [count(splits, "split")] * (splits > 1)
    return Page(
        title=f"{subject.model[:1].upper()}{subject.model[1:]} on {subject.graph}",
        subtitle=", ".join(sizes),
        sections=(
            notice_section(subject),
            quality_section(subject),
            graph_section(subject),
            filter_section(subject),
            node_section(subject),
            making_section(subject),
        ),
    )
