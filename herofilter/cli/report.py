"""The command report."""

import shlex
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from herofilter.cli.app import Json, app, print_json
from herofilter.harmless import harmless

if TYPE_CHECKING:
    from herofilter.training.predictor import Predictor

Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html and MODEL_CARD.md.")
]


@app.command(epilog="Example: herofilter report runs/texas runs/texas-gcn --out comparison.html")
def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders that train or fit has written.", metavar="RUN...")
    ],
    split: Annotated[
        int | None, typer.Option(help="Which split of a run to show; by default the first one.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write. By default report.html in the folder, or comparison.html "
            "here for several runs."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a model or run again, or compare several runs on one page."""
    from herofilter.files import check_file_target

    path = out or (runs[0] / "report.html" if len(runs) == 1 else Path("comparison.html"))
    check_file_target(path)
    if len(runs) == 1:
        _check_folder(runs[0], split)

        from herofilter.report.model_report import write_report

        write_report(runs[0], split, page=path)
    else:
        from herofilter.report.compared_run import read_entries
        from herofilter.report.comparison import comparison_page
        from herofilter.report.page import write_page

        write_page(path, comparison_page(read_entries(runs)))
    if as_json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
        return
    print(harmless(f"written: {path}"))


def _check_folder(folder: Path, split: int | None) -> None:
    """Raise an error for a folder without a model, before torch is loaded."""
    from herofilter.training.artifacts.locate import RUN, finished_splits, locate_model

    is_run = (folder / RUN).is_file() and not (folder / "model.json").exists()
    if is_run and split is None:
        finished = finished_splits(folder)
        split = int(finished[0]) if finished else None
    locate_model(folder, split)


def write_after(
    folder: Path, graph: str, seconds: float, predictor: "Predictor | None" = None
) -> str:
    """Write what a finished command leaves beside a model or run; return the page's path.

    A report that can't be made is no reason to lose what was trained: then a warning says so, and
    the path is empty.
    """
    from herofilter.errors import HeroFilterError
    from herofilter.report.model_report import write_report
    from herofilter.training.artifacts.made import write_made

    try:
        write_made(folder, typed_command(), graph, seconds)
        return str(write_report(folder, predictor=predictor))
    except (HeroFilterError, OSError, MemoryError) as error:
        warnings.warn(
            f"the report couldn't be written ({error}); herofilter report {folder} tries again",
            ReportWarning,
            stacklevel=2,
        )
        return ""


def typed_command() -> str:
    """Return the command as it was typed, quoted for a shell."""
    return shlex.join(["herofilter", *sys.argv[1:]])


class ReportWarning(UserWarning):
    """A report couldn't be written; what it is about is there."""
