"""The command tune."""

from pathlib import Path
from typing import Annotated

import typer

import herofilter
from herofilter.cli.app import (
    Graph,
    Json,
    app,
    check_files,
    hold_folder,
    parse_splits,
    print_json,
    select_splits,
)
from herofilter.cli.log_options import Log


@app.command(
    epilog="Example: herofilter tune texas --budget 30m --set patcher=fast --as tuned-fast"
)
def tune(
    graph: Graph,
    budget: Annotated[
        str, typer.Option(help="Time after which no trial is started: 90s, 30m, 2h.")
    ] = "30m",
    trials: Annotated[
        int | None, typer.Option(help="Trials at most, those of earlier runs included.")
    ] = None,
    space: Annotated[str, typer.Option(help="wide, or paper (the paper's grid).")] = "wide",
    splits: Annotated[str, typer.Option(help="all, or numbers such as 0,1,2.")] = "all",
    model: Annotated[str, typer.Option(help="A registered model: herofilter list.")] = "herofilter",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A fixed setting, not searched: key=value. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search and of every training.")] = 0,
    preset: Annotated[
        str, typer.Option("--as", help="Name of the preset in preset.yaml.")
    ] = "tuned",
    finalists: Annotated[
        int,
        typer.Option(help="Best trials that get two further seeds before the choice; 0 for none."),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; a search in it is continued. By default runs/tune-GRAPH."),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="A file of several presets to add the new one to.")
    ] = None,
    log: Log = None,
    as_json: Json = False,
) -> None:
    """Search for a graph's best hyperparameters by validation accuracy and write a preset."""
    from herofilter.config import Config
    from herofilter.data.graph_path import check_graph_name
    from herofilter.training.search.budget import parse_budget
    from herofilter.training.search.presets import graph_name, merge_preset
    from herofilter.training.trackers.open_trackers import check_trackers, open_trackers

    seconds = parse_budget(budget)
    asked = parse_splits(splits)
    Config().with_settings(settings or [])
    check_graph_name(graph)
    check_trackers(log or [])
    out = out or Path("runs") / f"tune-{graph_name(graph)}"
    hold_folder(out)
    check_files(into)

    from herofilter.callbacks import together
    from herofilter.data import num_splits
    from herofilter.report.console import percent
    from herofilter.report.progress import TuneBar
    from herofilter.report.terminal import Console
    from herofilter.training.artifacts.graph_reference import GraphSource
    from herofilter.training.search.tuning import tune as run_search
    from herofilter.training.trackers.results import measured

    herofilter.find_model(model)
    data = herofilter.load_dataset(graph, split=None)
    chosen = None if asked is None else select_splits(asked, num_splits(data))
    with open_trackers(log or [], out.name) as trackers, TuneBar(seconds, trials) as bar:
        trackers.begin({"graph": graph, "model": model, "space": space, "fixed": settings or []})
        summary = run_search(
            data,
            graph,
            model=model,
            space=space,
            budget=seconds,
            trials=trials,
            splits=chosen,
            seed=seed,
            out=out,
            fixed=settings or [],
            seeds=(seed,),
            preset=preset,
            finalists=finalists,
            callback=together(bar, trackers),
            source=GraphSource.at(graph),
        )
        trackers.finish(measured(summary), {"search": out, "preset": out / "preset.yaml"})
    summary["out"] = str(out)
    if into is not None:
        merge_preset(out / "preset.yaml", into)
    if as_json:
        print_json(summary)
        return
    console = Console()
    changed = " ".join(f"{key}={value}" for key, value in summary["changed"].items())
    counts = ", ".join(f"{count} {state}" for state, count in summary["trials"].items())
    lines = [
        f"trials: {counts} in {summary['seconds']:.0f} s",
        f"chosen: {changed or 'the default configuration'}",
        f"validation accuracy {percent(summary['val_accuracy'])} %, "
        f"test accuracy {percent(summary['test_accuracy'])} %",
        f"use it: herofilter train {graph} --splits {splits} --preset {out / 'preset.yaml'}",
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
