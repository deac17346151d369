"""The command train."""

import itertools
import time
from pathlib import Path
from typing import Annotated

import typer

import herofilter
from herofilter.cli.app import (
    Graph,
    Json,
    app,
    hold_folder,
    parse_splits,
    print_json,
    select_splits,
)
from herofilter.cli.engine_options import Address, Engine
from herofilter.cli.log_options import Log
from herofilter.cli.report import Report, write_after
from herofilter.errors import ConfigError


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
            help="Processes that splits are shared out to (auto has one), by default one per core; "
            "with ray those that train together, 2 by default. With --log one, so that every epoch "
            "is logged."
        ),
    ] = None,
    compare: Annotated[
        str,
        typer.Option(
            help="Other models to train on the same splits and show in the report, such as "
            "booster,mlp,gcn."
        ),
    ] = "",
    patches: Annotated[
        Path | None,
        typer.Option(help="Folder that herofilter patch made of this graph: for fast-herofilter."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; an unfinished one is continued.")
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    shares: Annotated[
        int, typer.Option(help="With ray: parts of a batch; a multiple of the workers.")
    ] = 8,
    log: Log = None,
    with_report: Report = True,
    as_json: Json = False,
) -> None:
    """Train a model on some splits of a graph and write a run folder."""
    from herofilter.config import Config
    from herofilter.data.graph_path import check_graph_name
    from herofilter.distributed.engine import check_engine
    from herofilter.files import check_folder_target
    from herofilter.training.search.presets import choose_run, graph_name
    from herofilter.training.trackers.open_trackers import check_trackers, open_trackers

    started = time.perf_counter()
    named = splits.isalpha() and splits != "all"
    asked = None if named else parse_splits(splits)
    options = {"seed": seed} if patcher is None else {"seed": seed, "patcher": patcher}
    if patches is not None and model is None and patcher is None and preset is None:
        model = "fast-herofilter"
    Config().replace(**options).with_settings(settings or [])
    check_graph_name(graph)
    check_trackers(log or [])
    if out is None or engine == "ray":
        # with ray a worker is who writes
        check_folder_target(out or Path("runs"))
    else:
        hold_folder(out)
    check_engine(engine, address)
    if engine == "ray" and (patches is None or model not in (None, "fast-herofilter")):
        raise ConfigError(
            "with --engine ray the model must be fast-herofilter with --patches (got "
            f"{model or 'that model'}, patches {patches}); make them with: herofilter patch"
        )
    model, config = choose_run(graph, preset, model, ensemble, bool(patcher or settings))
    if engine == "ray":
        config = config.replace(patcher="fast", summary=False)
    config = config.replace(**options).with_settings(settings or [])
    others = [name.strip() for name in compare.split(",") if name.strip()]
    if others:
        from herofilter.training.compared import check_compared

        check_compared(others, model)

    from herofilter.callbacks import together
    from herofilter.data import num_splits
    from herofilter.distributed import make_job, train_on_ray
    from herofilter.nn.graph_defaults import resolve_defaults
    from herofilter.patchers import PatchStore
    from herofilter.report.console import compared_table, percent, train_table
    from herofilter.report.progress import TrainBar
    from herofilter.report.terminal import Console
    from herofilter.training.artifacts.graph_reference import GraphSource
    from herofilter.training.compared import train_compared
    from herofilter.training.trackers.results import measured

    store = None if patches is None else PatchStore.open(patches.resolve())
    data = herofilter.load_dataset(graph, split=splits if named else None)
    chosen = [0] if named else select_splits(asked, num_splits(data))
    name, source = graph_name(graph), GraphSource.at(graph, splits if named else None)
    out = out or _new_folder(Path("runs"), f"{name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}")
    usual = herofilter.training.default_workers(data, chosen, config.train.device)
    count = (1 if log else usual) if workers is None else workers
    with (
        open_trackers(log or [], out.name) as trackers,
        TrainBar(name, chosen, config.train.epochs) as bar,
    ):
        callback = together(bar, trackers)
        resolved = resolve_defaults(data, config)
        trackers.begin({"graph": name, "model": model, **resolved.to_dict()})
        if engine == "ray" and patches is not None:
            job = make_job(graph, patches, out, config, chosen, shares)
            summary = {**train_on_ray(job, workers or 2, address), "splits": chosen}
        elif model == "auto":
            summary = herofilter.train_auto(
                data, config, chosen, name, out, callback, ensemble, source=source
            )
        else:
            summary = herofilter.train_splits(
                data,
                model,
                config,
                chosen,
                name,
                out,
                callback,
                count,
                source=source,
                patches=store,
            )
        trackers.finish(measured(summary), {"run": out})
    summary["out"] = str(out)
    if others and not summary["interrupted"]:
        with TrainBar(name, chosen, config.train.epochs) as callback:
            found = train_compared(data, others, chosen, name, out, seed, callback, count, source)
            summary["compared"] = {entry["model"]: entry for entry in found}
        summary["interrupted"] = any(entry["interrupted"] for entry in summary["compared"].values())
    if with_report and summary["splits"]:
        summary["report"] = write_after(out, name, time.perf_counter() - started)
    if as_json:
        print_json(summary)
    else:
        console = Console()
        console.print(train_table(summary))
        if summary.get("compared"):
            console.print(compared_table(summary))
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
