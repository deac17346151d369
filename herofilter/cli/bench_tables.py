"""The commands bench homophilic, bench heterophilic and bench modern."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import Json, bench, hold_folder, parse_splits, print_json, select_splits

Graphs = Annotated[
    str | None, typer.Option(help="Names such as texas,cora; by default all of the table.")
]
Models = Annotated[
    str | None, typer.Option(help="Rows such as gcn,gprgnn,herofilter; by default all.")
]
Splits = Annotated[str, typer.Option(help="all, or numbers such as 0,1,2.")]
Trials = Annotated[
    int,
    typer.Option(
        help="Trials of hyperparameters per model and graph; up to 3000 nodes, per split."
    ),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes of one thread each; by default one per core.")
]
Out = Annotated[
    Path, typer.Option(help="Folder of finished trainings and tables, continued if it is there.")
]
Finished = Annotated[
    bool, typer.Option("--finished", help="Train nothing; summarise the finished trainings.")
]


@bench.command("homophilic", epilog="Example: herofilter bench homophilic --graphs cora")
def bench_homophilic(
    graphs: Graphs = None,
    models: Models = None,
    splits: Splits = "all",
    trials: Trials = 6,
    workers: Workers = None,
    out: Out = Path("runs/tables"),
    finished: Finished = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's Table 1: every model, one protocol, the same search for each."""
    _run("homophilic", graphs, models, splits, trials, workers, out, finished, as_json)


@bench.command("heterophilic", epilog="Example: herofilter bench heterophilic --graphs texas")
def bench_heterophilic(
    graphs: Graphs = None,
    models: Models = None,
    splits: Splits = "all",
    trials: Trials = 6,
    workers: Workers = None,
    out: Out = Path("runs/tables"),
    finished: Finished = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's Table 2: every model, one protocol, the same search for each."""
    _run("heterophilic", graphs, models, splits, trials, workers, out, finished, as_json)


@bench.command("modern", epilog="Example: herofilter bench modern --graphs chameleon-filtered")
def bench_modern(
    graphs: Graphs = None,
    models: Models = None,
    splits: Splits = "all",
    trials: Trials = 6,
    workers: Workers = None,
    out: Out = Path("runs/tables"),
    finished: Finished = False,
    as_json: Json = False,
) -> None:
    """Compare every model on graphs without known flaws, which the paper doesn't have."""
    _run("modern", graphs, models, splits, trials, workers, out, finished, as_json)


def _run(
    table: str,
    graphs: str | None,
    models: str | None,
    splits: str,
    trials: int,
    workers: int | None,
    out: Path,
    finished: bool,
    as_json: bool,
) -> None:
    from herofilter.files import write_json, write_text

    asked = parse_splits(splits)
    chosen = None if asked is None else select_splits(asked, 10)
    hold_folder(out)

    from herofilter.report.bench_report import table_bench_page
    from herofilter.report.page import write_page
    from herofilter.report.progress import ProgressBar
    from herofilter.report.table_page import TITLES, console_table, table_csv, table_page
    from herofilter.report.table_protocol import shown_graphs
    from herofilter.report.terminal import Console, in_parts
    from herofilter.reproduce.tables import run_table

    with ProgressBar(table) as callback:
        result = run_table(
            table,
            None if graphs is None else graphs.split(","),
            None if models is None else models.split(","),
            chosen,
            trials,
            out,
            os.cpu_count() or 1 if workers is None else workers,
            callback,
            finished,
        )
    write_json(out / f"{table}.json", result)
    write_text(out / f"{table}.csv", table_csv(result))
    write_text(out / f"{table}.md", table_page(result))
    write_page(out / f"{table}.html", table_bench_page(result, TITLES[table]))
    if as_json:
        print_json(result)
        return
    console = Console()
    for part in in_parts(partial(console_table, result), shown_graphs(result), console):
        console.print(part)
    console.print(
        f"written to {out / table}.md, .html, .csv and .json; "
        f"trainings in {out / 'trainings.jsonl'}",
        highlight=False,
        soft_wrap=True,
    )
