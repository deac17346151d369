"""The command bench ogb."""

from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import Json, bench, hold_folder, print_json


@bench.command("ogb", epilog="Example: herofilter bench ogb ogbn-arxiv --model gcn")
def bench_ogb(
    graph: Annotated[str, typer.Argument(help="A dataset: herofilter list.")] = "ogbn-arxiv",
    model: Annotated[str, typer.Option(help="A registered model: herofilter list.")] = "herofilter",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting: key=value. May be repeated.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes; by default one per core up to 50 000 nodes, else one."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of finished seeds, continued when it is there. By default "
            "runs/ogb-GRAPH-MODEL."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train one model with the seeds 0 to 9 and write what an OGB leaderboard asks for."""
    from herofilter.config import Config
    from herofilter.data.graph_path import check_dataset_name
    from herofilter.files import write_json, write_text

    Config().with_settings(settings or [])
    check_dataset_name(graph)
    out = out or Path("runs") / f"ogb-{graph}-{model}"
    hold_folder(out)

    from herofilter.report.ogb_page import ogb_page
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console
    from herofilter.reproduce.ogb import run_ogb

    with ProgressBar("ten seeds") as callback:
        result = run_ogb(out, graph, model, settings or [], workers, callback)
    summary, page = out / "submission.json", out / "submission.md"
    write_json(summary, result)
    write_text(page, ogb_page(result))
    if as_json:
        print_json(result)
        return
    shown = [
        f"{name} accuracy {result[key]['mean']:.4f} ± {result[key]['std']:.4f}"
        for name, key in (("test", "test_accuracy"), ("validation", "val_accuracy"))
    ]
    Console().print(
        f"{', '.join(shown)}, {result['parameters']:,} parameters; written to {summary} and {page}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
