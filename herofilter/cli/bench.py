"""The commands demo and bench."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import (
    Json,
    app,
    bench,
    check_files,
    hold_folder,
    parse_splits,
    print_json,
    select_splits,
)


@app.command(epilog="Example: herofilter demo --out runs/demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for demo.json and demo.png.")] = Path(
        "runs/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of graphs and models.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two small graphs, to see that it works.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train MLP, GCN and HeroFilter on nine synthetic graphs of rising heterophily."""
    from herofilter.files import write_json

    hold_folder(out)

    from herofilter.report.canvas import INSTALL_PICTURES, can_draw
    from herofilter.report.console import demo_table
    from herofilter.report.picture import demo_picture
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console
    from herofilter.reproduce.demo import run_demo, run_quick_demo

    with ProgressBar("demo") as callback:
        if quick:
            result = run_quick_demo(seed, callback)
        else:
            result = run_demo(seed=seed, workers=os.cpu_count() or 1, callback=callback)
    write_json(out / "demo.json", result)
    drawn = can_draw()
    if drawn:
        demo_picture(result, out / "demo.png")
    if as_json:
        print_json(result)
        return
    console = Console()
    console.print(demo_table(result))
    held = sum(level["holds"] for level in result["levels"])
    files = f"table and picture: {out / 'demo.json'}, {out / 'demo.png'}"
    if not drawn:
        files = f"table: {out / 'demo.json'}; no picture was drawn: {INSTALL_PICTURES} adds it"
    console.print(
        f"HeroFilter is at least the better of MLP and GCN, within one standard error, at "
        f"{held} of {len(result['levels'])} levels. {result['seconds']:.0f} s; {files}",
        highlight=False,
        markup=False,
    )


@bench.command(
    "herofilter", epilog="Example: herofilter bench herofilter --graphs texas,cora --splits 0,1"
)
def bench_herofilter(
    graphs: Annotated[
        str | None, typer.Option(help="Names such as texas,cora; by default the paper's nine.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Some of mlp,gcn,default,tuned-undirected,tuned-fast,"
            "tuned-directed; by default all."
        ),
    ] = None,
    splits: Annotated[str, typer.Option(help="all, or numbers such as 0,1,2.")] = "all",
    workers: Annotated[
        int | None, typer.Option(help="Processes of one thread each; by default one per core.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of finished trainings, continued when it is there.")
    ] = Path("runs/bench-herofilter"),
    results: Annotated[
        Path | None,
        typer.Option(
            help="The summary. By default accuracy.json in the folder, but "
            "results/accuracy.json for the complete benchmark in a checkout."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="The page. By default beside the summary, or docs/results.md likewise."),
    ] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Train nothing; summarise the finished trainings.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare MLP, GCN and HeroFilter, default and tuned, on nine graphs of the paper."""
    from herofilter.files import write_json, write_text

    asked = parse_splits(splits)
    hold_folder(out)
    check_files(results, page)

    from herofilter.report.accuracy_page import results_page
    from herofilter.report.accuracy_table import PAPER, accuracy_table
    from herofilter.report.bench_report import accuracy_bench_page
    from herofilter.report.page import write_page
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console, in_parts
    from herofilter.reproduce import accuracy

    names = accuracy.GRAPHS if graphs is None else graphs.split(",")
    available = accuracy.num_common_splits(names)
    chosen = None if asked is None else select_splits(asked, available)
    with ProgressBar("benchmark") as callback:
        result = accuracy.run_accuracy(
            names,
            tuple(accuracy.COLUMNS) if columns is None else columns.split(","),
            chosen,
            out,
            os.cpu_count() or 1 if workers is None else workers,
            callback,
            finished,
        )
    summary, text = accuracy.PUBLISHED.paths(result["command"], out, results, page)
    write_json(summary, result)
    write_text(text, results_page(result))
    write_page(out / "report.html", accuracy_bench_page(result))
    if as_json:
        print_json(result)
        return
    console = Console()
    shown = [PAPER, *result["columns"]]
    for table in in_parts(partial(accuracy_table, result), shown, console):
        console.print(table)
    console.print(f"written to {summary} and {text}", highlight=False, soft_wrap=True)


@bench.command("filters", epilog="Example: herofilter bench filters --graphs texas,mixed")
def bench_filters(
    graphs: Annotated[
        str | None,
        typer.Option(help="Some of the nine graphs and dense, noisy, mixed; by default all."),
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="Names such as learned,fixed,ppr; by default all.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes of one thread each; by default one per core.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of finished trainings, continued when it is there.")
    ] = Path("runs/bench-filters"),
    results: Annotated[
        Path | None,
        typer.Option(
            help="The summary. By default filters.json in the folder, but results/filters.json "
            "for the complete study in a checkout."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="The page. By default beside the summary, or docs/filters.md likewise."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare learned filters with fixed ones, patches and mixers with none, on nine graphs."""
    from herofilter.files import write_json, write_text

    hold_folder(out)
    check_files(results, page)

    from herofilter.report.bench_report import filters_bench_page
    from herofilter.report.filters_page import filters_page, verdicts
    from herofilter.report.page import write_page
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console
    from herofilter.reproduce import filters

    with ProgressBar("study") as callback:
        result = filters.run_filters(
            tuple(filters.GRAPHS) if graphs is None else graphs.split(","),
            tuple(filters.VARIANTS) if variants is None else variants.split(","),
            out,
            os.cpu_count() or 1 if workers is None else workers,
            callback,
        )
    summary, text = filters.PUBLISHED.paths(result["command"], out, results, page)
    write_json(summary, result)
    write_text(text, filters_page(result))
    write_page(out / "report.html", filters_bench_page(result))
    if as_json:
        print_json(result)
        return
    console = Console()
    for line in (*verdicts(result), f"written to {summary} and {text}"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
