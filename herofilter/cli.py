"""The command line: thin, no logic."""

import itertools
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import herofilter
from herofilter.errors import ConfigError, HeroFilterError

app = typer.Typer(
    name="herofilter",
    help="Classify the nodes of a graph when you don't know whether neighbours are alike.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench = typer.Typer(help="Benchmarks: compare models on many graphs.", no_args_is_help=True)
app.add_typer(bench, name="bench")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Graph = Annotated[str, typer.Argument(help="A dataset's name, or the path of an .npz graph.")]


@app.command("list", epilog="Example: herofilter list --json")
def list_command(as_json: Json = False) -> None:
    """List datasets and models, with what is on disk."""
    from herofilter.data import list_datasets, on_disk
    from herofilter.report.console import dataset_table, model_table

    datasets = [(info, on_disk(info.name)) for info in list_datasets()]
    models = herofilter.list_models()
    if as_json:
        _print_json(
            {
                "datasets": [
                    {"name": i.name, "splits": i.num_splits, "variant": i.variant, "on_disk": there}
                    for i, there in datasets
                ],
                "models": [{"name": m.name, "paper": m.paper, "scales": m.scales} for m in models],
            }
        )
        return
    console = Console()
    console.print(dataset_table(datasets))
    console.print(model_table(models))


@app.command(epilog="Example: herofilter info karate")
def info(graph: Graph, as_json: Json = False) -> None:
    """Print a graph's data card: size, oddities, heterophily, memory that patches need."""
    from herofilter.analysis import data_card
    from herofilter.data import check_graph
    from herofilter.report.console import card_table

    data = herofilter.load_dataset(graph, split=None)
    check_graph(data, split_required=False)
    card = data_card(data, graph)
    if as_json:
        _print_json(card.to_dict())
    else:
        Console().print(card_table(card))


@app.command(
    epilog="Example: herofilter train texas --splits all --set patch_size=8 --out runs/texas"
)
def train(
    graph: Graph,
    model: Annotated[
        str | None,
        typer.Option(
            help="A registered model (herofilter list), or auto: a portfolio, picked by "
            "validation. By default the preset's; auto for a graph of your own."
        ),
    ] = None,
    patcher: Annotated[
        str | None, typer.Option(help="auto, spectral or fast. By default the preset's.")
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
        typer.Option(help="Processes that splits are shared out to; by default one per core."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; an unfinished one is continued.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model on some splits of a graph and write a run folder."""
    from herofilter.data import num_splits
    from herofilter.report.console import percent, train_progress, train_table
    from herofilter.training.presets import choose_run, graph_name

    model, config = choose_run(graph, preset, model, ensemble, bool(patcher or settings))
    options = {"seed": seed} if patcher is None else {"seed": seed, "patcher": patcher}
    config = config.replace(**options).with_settings(settings or [])
    named = splits.isalpha() and splits != "all"
    data = herofilter.load_dataset(graph, split=splits if named else None)
    chosen = [0] if named else _parse_splits(splits, num_splits(data))
    name = graph_name(graph)
    out = out or _new_folder(Path("runs"), f"{name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}")
    with train_progress(name, chosen, config.train.epochs) as show:
        if model == "auto":
            summary = herofilter.train_auto(
                data, config, chosen, name, out, show.epoch, show.member, ensemble
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
                show.epoch,
                count if workers is None else workers,
                show.split,
            )
    summary["out"] = str(out)
    if as_json:
        _print_json(summary)
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
        )
    if summary["interrupted"]:
        raise KeyboardInterrupt


@app.command(
    epilog="Example: herofilter tune texas --budget 30m --set patcher=fast --as tuned-fast"
)
def tune(
    graph: Graph,
    budget: Annotated[
        str, typer.Option(help="Time after which no trial is started: 90s, 30m, 2h.")
    ] = "30m",
    trials: Annotated[
        int | None, typer.Option(help="Trials at most, those of an earlier go included.")
    ] = None,
    space: Annotated[str, typer.Option(help="wide, or paper (the paper's grid).")] = "wide",
    splits: Annotated[str, typer.Option(help="all, or numbers such as 0,1,2.")] = "all",
    model: Annotated[str, typer.Option(help="A registered model: herofilter list.")] = "herofilter",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting that isn't searched: key=value. May be repeated."),
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
        Path | None, typer.Option(help="A file of several presets to put the new one into.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Search for a graph's best settings by validation accuracy and write a preset."""
    from herofilter.data import num_splits
    from herofilter.report.console import percent, progress_bar
    from herofilter.training.presets import graph_name, merge_preset
    from herofilter.training.tuning import TuneProgress, parse_budget
    from herofilter.training.tuning import tune as run_search

    seconds = parse_budget(budget)
    herofilter.find_model(model)
    data = herofilter.load_dataset(graph, split=None)
    chosen = None if splits == "all" else _parse_splits(splits, num_splits(data))
    out = out or Path("runs") / f"tune-{graph_name(graph)}"
    with progress_bar() as progress:
        task = progress.add_task("tuning", total=trials or seconds)

        def on_trial(now: TuneProgress) -> None:
            best = "none yet" if now.best is None else f"{100 * now.best:.1f} %"
            left = max(0.0, seconds - now.seconds) / 60
            progress.update(
                task,
                completed=now.finished if trials else min(now.seconds, seconds),
                description=f"{now.finished} trials, best validation {best}, {left:.0f} min left",
            )

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
            on_trial=on_trial,
        )
    summary["out"] = str(out)
    if into is not None:
        merge_preset(out / "preset.yaml", into)
    if as_json:
        _print_json(summary)
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


@app.command(epilog="Example: herofilter demo --out runs/demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for demo.json and demo.png.")] = Path(
        "runs/demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of graphs and models.")] = 0,
    as_json: Json = False,
) -> None:
    """Train MLP, GCN and HeroFilter on nine synthetic graphs of rising heterophily."""
    from herofilter.experiments.demo import run_demo
    from herofilter.files import write_json
    from herofilter.report.console import demo_table, progress_bar
    from herofilter.report.picture import demo_picture

    with progress_bar() as progress:
        task = progress.add_task("demo", total=1)

        def on_step(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        result = run_demo(seed=seed, workers=os.cpu_count() or 1, on_step=on_step)
    write_json(out / "demo.json", result)
    demo_picture(result, out / "demo.png")
    if as_json:
        _print_json(result)
        return
    console = Console()
    console.print(demo_table(result))
    held = sum(level["holds"] for level in result["levels"])
    console.print(
        f"HeroFilter is at least the better of MLP and GCN, within one standard error, at "
        f"{held} of {len(result['levels'])} levels. {result['seconds']:.0f} s; table and picture: "
        f"{out / 'demo.json'}, {out / 'demo.png'}",
        highlight=False,
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
            "results/accuracy.json for the whole benchmark in a checkout."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="The page. By default beside the summary, or docs/results.md likewise."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare MLP, GCN and HeroFilter, default and tuned, on nine graphs of the paper."""
    from herofilter.experiments import accuracy
    from herofilter.files import write_json, write_text
    from herofilter.report.accuracy_page import results_page
    from herofilter.report.accuracy_table import accuracy_table
    from herofilter.report.console import progress_bar

    names = accuracy.GRAPHS if graphs is None else graphs.split(",")
    available = accuracy.num_common_splits(names)
    chosen = None if splits == "all" else _parse_splits(splits, available)
    with progress_bar() as progress:
        task = progress.add_task("benchmark", total=1)

        def on_step(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        result = accuracy.run_accuracy(
            names,
            tuple(accuracy.COLUMNS) if columns is None else columns.split(","),
            chosen,
            out,
            os.cpu_count() or 1 if workers is None else workers,
            on_step,
        )
    summary, text = accuracy.places(result["command"], out, results, page)
    write_json(summary, result)
    write_text(text, results_page(result))
    if as_json:
        _print_json(result)
        return
    console = Console()
    console.print(accuracy_table(result))
    console.print(f"written to {summary} and {text}", highlight=False, soft_wrap=True)


@bench.command("filters", epilog="Example: herofilter bench filters --graphs texas,mixed")
def bench_filters(
    graphs: Annotated[
        str | None,
        typer.Option(help="Some of texas,chameleon,cora,dense,noisy,mixed; by default all."),
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="Names such as learned,fixed,ppr; by default all fourteen.")
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
            "for the whole study in a checkout."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="The page. By default beside the summary, or docs/filters.md likewise."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask whether the learned filter earns its place over a fixed one."""
    from herofilter.experiments import filters
    from herofilter.files import write_json, write_text
    from herofilter.report.console import progress_bar
    from herofilter.report.filters_page import filters_page, verdicts

    with progress_bar() as progress:
        task = progress.add_task("study", total=1)

        def on_step(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        result = filters.run_filters(
            tuple(filters.GRAPHS) if graphs is None else graphs.split(","),
            tuple(filters.VARIANTS) if variants is None else variants.split(","),
            out,
            os.cpu_count() or 1 if workers is None else workers,
            on_step,
        )
    summary, text = filters.places(result["command"], out, results, page)
    write_json(summary, result)
    write_text(text, filters_page(result))
    if as_json:
        _print_json(result)
        return
    console = Console()
    for line in (*verdicts(result), f"written to {summary} and {text}"):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def main() -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2."""
    warnings.showwarning = _show_warning
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    try:
        app()
    except HeroFilterError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except SystemExit as end:
        if isinstance(end.__context__, typer.Exit) and end.code == 130:
            print("stopped; what was finished is kept", file=sys.stderr)
        raise


def _new_folder(parent: Path, name: str) -> Path:
    candidates = (
        parent / (name if not count else f"{name}-{count}") for count in itertools.count()
    )
    return next(path for path in candidates if not path.exists())


def _parse_splits(text: str, available: int) -> list[int]:
    if text == "all":
        return list(range(available))
    try:
        chosen = [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"splits must be all or numbers such as 0,1,2 (got {text!r})") from None
    for split in chosen:
        if not 0 <= split < available:
            raise ConfigError(
                f"a split must be between 0 and {available - 1} (got {split}); "
                f"the graph has {available} splits"
            )
    return sorted(set(chosen))


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


if __name__ == "__main__":
    main()
