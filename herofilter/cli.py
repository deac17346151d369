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
from herofilter.config import Config, paper_config
from herofilter.errors import ConfigError, HeroFilterError, check_choice

app = typer.Typer(
    name="herofilter",
    help="Classify the nodes of a graph when you don't know whether neighbours are alike.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
    model: Annotated[str, typer.Option(help="A registered model: herofilter list.")] = "herofilter",
    patcher: Annotated[str, typer.Option(help="auto, spectral or fast.")] = "auto",
    splits: Annotated[
        str, typer.Option(help="all, numbers such as 0,1,2, or a name such as public.")
    ] = "0",
    seed: Annotated[int, typer.Option(help="Seed of weights, dropout and batches.")] = 0,
    preset: Annotated[str, typer.Option(help="default, or paper (Algorithm 1).")] = "default",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting: key=value. May be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; an unfinished one is continued.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model on some splits of a graph and write a run folder."""
    from herofilter.data import num_splits
    from herofilter.report.console import percent, progress_bar, train_table

    check_choice("preset", preset, ("default", "paper"))
    config = paper_config() if preset == "paper" else Config()
    config = config.replace(patcher=patcher, seed=seed).with_settings(settings or [])
    herofilter.find_model(model)
    named = splits.isalpha() and splits != "all"
    data = herofilter.load_dataset(graph, split=splits if named else None)
    chosen = [0] if named else _parse_splits(splits, num_splits(data))
    name = Path(graph).stem if graph.endswith(".npz") else graph
    out = out or _new_folder(Path("runs"), f"{name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}")
    with progress_bar() as progress:
        task = progress.add_task(f"{name}: preparing", total=len(chosen) * config.train.epochs)

        def on_epoch(split: int, epoch: herofilter.training.Epoch) -> None:
            progress.update(
                task,
                completed=chosen.index(split) * config.train.epochs + epoch.epoch + 1,
                description=f"split {split}: validation {100 * epoch.val_accuracy:.1f} %",
            )

        summary = herofilter.train_splits(data, model, config, chosen, name, out, on_epoch)
    summary["out"] = str(out)
    if as_json:
        _print_json(summary)
    else:
        console = Console()
        console.print(train_table(summary))
        count = len(summary["splits"])
        console.print(
            f"test accuracy {percent(summary['test_accuracy'])} % over "
            f"{count} split{'s' if count > 1 else ''} in {summary['seconds']:.1f} s; "
            f"written to {out}",
            highlight=False,
        )
    if summary["interrupted"]:
        raise KeyboardInterrupt


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
