"""What the benchmarks share: where results are written, and the environments of their runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herofilter.reproduce.jobs import JobFile

_CHECKOUT = Path("herofilter/reproduce/published.py")


@dataclass(frozen=True)
class Published:
    """A benchmark whose results are published in the repository.

    Args:
        command: runs all of it.
        summary: the name of its summary, in ``results`` once published.
        page: the name of its page, in ``docs`` once published.
    """

    command: str
    summary: str
    page: str

    def paths(
        self, command: str, out: Path, summary: Path | None = None, page: Path | None = None
    ) -> tuple[Path, Path]:
        """Return the paths of the summary and its page: the user's, or the usual ones.

        In a checkout the complete benchmark replaces the published results; a part of it never
        does.

        Args:
            command: the command that the result names.
            out: the folder of finished trainings.
            summary: the summary's path, if given.
            page: the page's path, if given; by default beside a summary whose path is given.
        """
        if summary is not None:
            return summary, page or summary.with_suffix(".md")
        if command == self.command and _CHECKOUT.is_file():
            return Path("results") / self.summary, page or Path("docs") / self.page
        return out / self.summary, page or out / self.page


def all_environments(files: Iterable[JobFile]) -> list[dict[str, Any]]:
    """Return the different environments in which the trainings of some files ran."""
    found: list[dict[str, Any]] = []
    for file in files:
        found += [entry for entry in file.environments if entry not in found]
    return found
