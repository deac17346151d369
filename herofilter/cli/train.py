"""The command train."""

import itertools
import time
from pathlib import Path
from typing import Annotated

import typer

import herofilter
from herofilter.cli.app import Graph, Json, app, parse_splits, print_json, select_splits
from herofilter.cli.report import Report, write_after


@app.command(
    epilog="Example: herofilter train texas --splits all --set patch_size=8 --out runs/texas"
)
def train(
    graph: Graph,
    model: Annotated[
        str | None,
        typer.Option(
            help="A registered model (herofilter list), or auto: a portfolio, picked by "
            "validation. By default the preset's; auto for a graph given by its path."
        ),
    ] = None,
    patcher: Annotated[
        str | None,
        typer.Option(help="auto, polynomial, local, spectral or fast. By default the preset's."),
    ] = None,
    splits: Annotated[
        str, typer.Option(help="all, numbers such as 0,1,2, or a name such as public.")
    ] = "0",
    seed: Annotated[int, typer.Option(help="Seed of weights, dropout and batches.")] = 0,
    preset: Annotated[
        str | None,
        typer.Option(
            help="default, paper (Algorithm 1), a preset of the graph such as tuned, "
            "or the path of a preset.yaml."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting: key=value. May be repeated.")
    ] = None,
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="With auto: also average members, reported apart.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that splits are shared out to (auto has one); by default one per core."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; an unfinished one is continued.")
    ] = None,
    with_report: Report = True,
    as_json: Json = False,
) -> None:
    """Train a model on some splits of a graph and write a run folder."""
    from herofilter.config import Config
    from herofilter.data.graph_path import check_graph_name
    from herofilter.files import check_folder_target
    from herofilter.training.search.presets import choose_run, graph_name

    started = time.perf_counter()
    named = splits.isalpha() and splits != "all"
    asked = None if named else parse_splits(splits)
    options = {"seed": seed} if patcher is None else {"seed": seed, "patcher": patcher}
    Config().replace(**options).with_settings(settings or [])
    check_graph_name(graph)
    check_folder_target(out or Path("runs"))
    model, config = choose_run(graph, preset, model, ensemble, bool(patcher or settings))
    config = config.replace(**options).with_settings(settings or [])

    from herofilter.data import num_splits
    from herofilter.report.console import percent, train_table
    from herofilter.report.progress import TrainBar
    from herofilter.report.terminal import Console
    from herofilter.training.artifacts.graph_reference import GraphSource

    data = herofilter.load_dataset(graph, split=splits if named else None)
    chosen = [0] if named else select_splits(asked, num_splits(data))
    name, source = graph_name(graph), GraphSource.at(graph, splits if named else None)
    out = out or _new_folder(Path("runs"), f"{name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}")
    with TrainBar(name, chosen, config.train.epochs) as callback:
        if model == "auto":
            summary = herofilter.train_auto(
                data, config, chosen, name, out, callback, ensemble, source=source
            )
        else:
            count = herofilter.training.default_workers(data, chosen)
            summary = herofilter.train_splits(
                data,
                model,
                config,
                chosen,
                name,
                out,
                callback,
                count if workers is None else workers,
                source=source,
            )
    summary["out"] = str(out)
    if with_report and summary["splits"]:
        summary["report"] = write_after(out, name, time.perf_counter() - started)
    if as_json:
        print_json(summary)
    else:
        console = Console()
        console.print(train_table(summary))
        count = len(summary["splits"])
        if "ensemble" in summary:
            console.print(
                f"ensemble, apart: test accuracy {percent(summary['ensemble']['test_accuracy'])} %",
                highlight=False,
            )
        console.print(
            f"test accuracy {percent(summary['test_accuracy'])} % over "
            f"{count} split{'s' if count > 1 else ''} in {summary['seconds']:.1f} s of training; "
            f"written to {out}",
            highlight=False,
            soft_wrap=True,
        )
        if summary.get("report"):
            console.print(f"report: {summary['report']}", highlight=False, soft_wrap=True)
    if summary["interrupted"]:
        raise KeyboardInterrupt


def _new_folder(parent: Path, name: str) -> Path:
    candidates = (
        parent / (name if not count else f"{name}-{count}") for count in itertools.count()
    )
    return next(path for path in candidates if not path.exists())
