"""The command reproduce."""

import os
from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import Json, app, hold_folder, print_json

ALL, LIST = "all", "list"


@app.command(epilog="Example: herofilter reproduce filter-response --quick")
def reproduce(
    name: Annotated[
        str, typer.Argument(help="A study, several such as patchers,components, all, or list.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A few tasks on tiny graphs, to see that it works.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of results, continued if it is there. By default results/reproduce, or "
            "runs/reproduce-quick for the quick form."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes of one thread each; by default one per core, or one if quick."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a table or figure of the paper again, and say whether it confirms the paper."""
    from herofilter.report.terminal import Console
    from herofilter.reproduce.studies.registry import STUDIES

    if name == LIST:
        _print_list(as_json)
        return

    from herofilter.report.progress import ProgressBar
    from herofilter.reproduce.studies.run import OUT, QUICK_OUT, run_studies

    folder = out or (QUICK_OUT if quick else OUT)
    hold_folder(folder)
    names = tuple(STUDIES) if name == ALL else name.split(",")
    # starting processes takes longer than all tasks of the quick form
    usual = 1 if quick else os.cpu_count() or 1
    processes = usual if workers is None else workers
    with ProgressBar("studies") as callback:
        results = run_studies(names, folder, quick, processes, callback)
    if as_json:
        print_json(results)
        return
    console = Console()
    for result in results.values():
        finding = result["finding"]
        console.print(
            f"{result['study']}: {finding['word']}. {finding['why']}", highlight=False, markup=False
        )
    console.print(f"written to {folder / 'index.html'}", highlight=False, soft_wrap=True)


def _print_list(as_json: bool) -> None:
    from rich.table import Table

    from herofilter.report.terminal import Console
    from herofilter.reproduce.studies.registry import STUDIES

    if as_json:
        print_json(
            [
                {"name": study.name, "title": study.title, "reproduces": study.reproduces}
                for study in STUDIES.values()
            ]
        )
        return
    table = Table(title="Studies")
    for title in ("name", "of the paper", "what it is"):
        table.add_column(title, no_wrap=title == "name")
    for study in STUDIES.values():
        table.add_row(study.name, study.reproduces, study.title)
    Console().print(table)
