"""The commands for the user's tables: fit, predict, export."""

import sys
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import Json, app, hold_folder, print_json
from herofilter.cli.engine_options import Address, Engine
from herofilter.cli.log_options import Log
from herofilter.cli.model_options import ModelFolder, RunSplit, check_inputs
from herofilter.cli.report import Report, write_after
from herofilter.cli.started import started
from herofilter.cli.table_options import (
    Edges,
    Label,
    NewEdges,
    NewNodes,
    Nodes,
    Undirected,
    print_notes,
    print_warnings,
    with_columns,
)
from herofilter.data.tables.table_columns import TableColumns
from herofilter.harmless import harmless

_USUAL = TableColumns()
SafeCsv = Annotated[
    bool,
    typer.Option("--safe-csv", help="Quote cells that a spreadsheet would run as formulas."),
]


@app.command(
    epilog="Example: herofilter fit --edges edges.csv --nodes nodes.csv --label topic --out model"
)
@with_columns()
def fit(
    edges: Edges,
    label: Label,
    nodes: Nodes,
    out: Annotated[Path, typer.Option(help="Folder to write the model into.")] = Path("model"),
    budget: Annotated[
        str, typer.Option(help="Time from start to end, predictions included: 90s, 5m, 1h.")
    ] = "5m",
    model: Annotated[
        str,
        typer.Option(
            help="The one to train: herofilter, herofilter-labels, gcn, mlp, booster or "
            "neighbour-booster; auto trains all and keeps the best."
        ),
    ] = "auto",
    metric: Annotated[
        str, typer.Option(help="What validation chooses by: accuracy, balanced, f1, auc or ap.")
    ] = "accuracy",
    trials: Annotated[
        int | None,
        typer.Option(
            help="Trainings per model at most; 1 trains the recommended settings. By default as "
            "many as the validation nodes can tell apart, up to 40."
        ),
    ] = None,
    columns: TableColumns = _USUAL,
    undirected: Undirected = False,
    class_weights: Annotated[
        bool, typer.Option("--class-weights", help="Weigh classes inversely to their frequency.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A fixed setting, not searched: key=value. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split, the search and training.")] = 0,
    log: Log = None,
    safe_csv: SafeCsv = False,
    with_report: Report = True,
    as_json: Json = False,
) -> None:
    """Learn from a table of edges and a table of nodes; write a model and predictions."""
    from herofilter.config import Config
    from herofilter.data.tables.table_path import table_ending
    from herofilter.files import check_folder_target
    from herofilter.training.artifacts.sealed_folder import check_target
    from herofilter.training.search.budget import parse_budget
    from herofilter.training.search.choices import check_contender, check_metric
    from herofilter.training.trackers.open_trackers import check_trackers, open_trackers

    seconds = parse_budget(budget)
    check_contender(model)
    check_metric(metric)
    check_trackers(log or [])
    check_folder_target(out)
    check_target(out)
    table_ending(edges, "edges")
    table_ending(nodes, "nodes")
    Config().with_settings(settings or [])
    hold_folder(out)
    columns = replace(columns, label=label)

    from herofilter.callbacks import notify, together
    from herofilter.data.tables.read_graph import read_tables
    from herofilter.measures import data_card, table_warnings
    from herofilter.patchers import patcher_memory
    from herofilter.predict.tables import predict_tables
    from herofilter.report.console import card_table, fit_table
    from herofilter.report.model_report import report_seconds
    from herofilter.report.progress import FitBar, ProgressBar
    from herofilter.report.terminal import Console
    from herofilter.training.artifacts.sealed_folder import SEARCH
    from herofilter.training.search.clock import Clock
    from herofilter.training.search.contest_store import finished_trainings
    from herofilter.training.search.fitting import fit_graph, with_split
    from herofilter.training.trackers.results import of_fit

    clock = Clock(seconds, started())
    console = Console(quiet=as_json)
    with FitBar(seconds, clock.elapsed) as callback:
        notify(callback, "attempt", 0, name="reading tables")
        graph = with_split(read_tables(edges, nodes, columns, directed=not undirected), seed)
    if with_report:
        clock.afterwards = report_seconds(int(graph.data.num_nodes or 0))
    print_notes(graph.notes, as_json)
    card = data_card(graph.data, nodes.stem, patcher_memory(graph.data), graph.shown_classes)
    console.print(card_table(card))
    suspicious = table_warnings(graph, card)
    print_warnings(suspicious, as_json)
    ends = datetime.now() + timedelta(seconds=seconds - clock.elapsed)
    console.print(f"this takes up to {seconds:.0f} s, until {ends:%H:%M:%S}", highlight=False)
    fixed = [*(settings or []), *["class_weights=true"] * class_weights]
    try:
        with (
            open_trackers(log or [], out.name) as trackers,
            FitBar(seconds, clock.elapsed) as bar,
        ):
            trackers.begin({"nodes": nodes.name, "model": model, "seed": seed, "fixed": fixed})
            both = together(bar, trackers)
            fitted = fit_graph(
                graph, clock, tuple(fixed), seed, both, trials, model, metric, out, suspicious
            )
            trackers.finish(of_fit(fitted.saved), {"model": out})
    except KeyboardInterrupt:
        kept = finished_trainings(out)
        said = "stopped; no training was finished, so that nothing is kept"
        if kept:
            said = f"stopped; {kept} finished trainings are kept in {out / SEARCH}, and the same "
            said += "command continues from them"
        print(harmless(said), file=sys.stderr)
        raise SystemExit(130) from None
    model_kept, metrics = fitted.predictor, fitted.saved.metrics
    model_kept.save(out)
    predicted = predict_tables(model_kept)
    with ProgressBar("predicting") as callback:
        predicted.write(out / "predictions.csv", callback, safe_csv)
    page = ""
    if with_report:
        page = write_after(out, nodes.name, clock.elapsed, model_kept)
    if as_json:
        more = {"said": list(fitted.said), "notes": list(graph.notes), "report": page}
        print_json({**metrics, **more})
        return
    console.print(fit_table(metrics))
    print_warnings(fitted.warnings[len(suspicious) :], as_json)
    written = f"written in {clock.elapsed:.0f} s: {out} and {out / 'predictions.csv'}"
    for line in (*fitted.said, written, *[f"report: {page}"] * bool(page)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


@app.command(
    epilog="Example: herofilter predict model --edges new_edges.csv --nodes new_nodes.csv "
    "--out predictions.csv"
)
@with_columns("split", "features")
def predict(
    model: ModelFolder,
    split: RunSplit = None,
    edges: NewEdges = None,
    nodes: NewNodes = None,
    out: Annotated[
        Path, typer.Option(help="Table to write: .csv or .parquet; with ray a folder of Parquet.")
    ] = Path("predictions.csv"),
    columns: TableColumns = _USUAL,
    safe_csv: SafeCsv = False,
    patches: Annotated[
        Path | None, typer.Option(help="Folder that herofilter patch made of the training graph.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where to compute: cpu, cuda, mps, or auto for the best there is.")
    ] = "cpu",
    engine: Engine = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Predict the nodes of the training graph, of that graph extended, or of a new one."""
    from herofilter.data.tables.table_path import check_table_target
    from herofilter.distributed.engine import check_engine
    from herofilter.errors import check_choice
    from herofilter.files import check_file_target, check_folder_target
    from herofilter.settings import DEVICES

    check_engine(engine, address)
    check_choice("device", device, DEVICES)
    folder = check_inputs(model, split, edges, nodes)
    if engine == "ray":
        out = out.with_suffix("") if out == Path("predictions.csv") else out
        check_choice("with --engine ray device", device, ("cpu",))
        check_folder_target(out)
        _predict_on_ray(folder, patches, edges, nodes, columns, out, address, as_json)
        return
    check_table_target(out)
    check_file_target(out)

    from herofilter.predict import Predictor
    from herofilter.predict.tables import predict_tables
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console

    if patches is None:
        predictor = Predictor.load(folder)
    else:
        # what a training needs is imported only to compare its settings with the patches
        from herofilter.distributed import load_predictor

        predictor = load_predictor(folder, patches)
    predicted = predict_tables(predictor.to(device), edges, nodes, columns)
    print_notes(predicted.notes, as_json)
    with ProgressBar("predicting") as callback:
        predicted.write(out, callback, safe_csv)
    result = {"out": str(out), "nodes": len(predicted.ids), "notes": list(predicted.notes)}
    if as_json:
        print_json(result)
        return
    line = f"{len(predicted.ids)} nodes: {out}"
    Console().print(line, highlight=False, markup=False, soft_wrap=True)


def _predict_on_ray(
    folder: Path,
    patches: Path | None,
    edges: Path | None,
    nodes: Path | None,
    columns: TableColumns,
    out: Path,
    address: str | None,
    as_json: bool,
) -> None:
    from herofilter.distributed import Source, predict_parts, ray_jobs
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console

    given = {"patches": patches, "edges": edges, "nodes": nodes}
    paths = {name: path.resolve() for name, path in given.items() if path is not None}
    with ProgressBar("predicting") as callback:
        count, notes = predict_parts(
            Source(folder.resolve(), columns=columns, **paths),
            out,
            partial(ray_jobs, address=address),
            callback,
        )
    print_notes(notes, as_json)
    if as_json:
        print_json({"out": str(out), "nodes": count, "notes": list(notes)})
        return
    Console().print(f"{count} nodes: {out}", highlight=False, markup=False, soft_wrap=True)


@app.command(epilog="Example: herofilter export model --onnx model.onnx")
def export(
    model: ModelFolder,
    onnx: Annotated[Path | None, typer.Option(help="ONNX file to write.")] = None,
    hub: Annotated[
        Path | None,
        typer.Option(help="Folder to write for a model hub; nothing is uploaded."),
    ] = None,
    licence: Annotated[
        str, typer.Option("--license", help="The model's licence on the hub, such as mit.")
    ] = "unknown",
    with_graph: Annotated[
        bool,
        typer.Option("--graph/--no-graph", help="Whether the training graph is in the hub folder."),
    ] = True,
    split: RunSplit = None,
) -> None:
    """Write a model as an ONNX file, checked against the model itself, or for a model hub."""
    from herofilter.errors import ConfigError
    from herofilter.files import check_file_target, check_folder_target
    from herofilter.training.artifacts.sealed_folder import check_target

    folder = check_inputs(model, split, None, None)
    if onnx is None and hub is None:
        raise ConfigError("export must know what to write (got nothing); give --onnx or --hub")
    if onnx is not None:
        check_file_target(onnx)
    if hub is not None:
        check_folder_target(hub)
        check_target(hub)

    from herofilter.nn import export_onnx
    from herofilter.predict import Predictor
    from herofilter.report.hub_folder import write_hub_folder
    from herofilter.report.terminal import Console

    console = Console()
    if onnx is not None:
        predictor = Predictor.load(folder)
        export_onnx(predictor.network, onnx, predictor.temperature)
        console.print(f"written: {onnx}", highlight=False, markup=False, soft_wrap=True)
    if hub is not None:
        saved = write_hub_folder(model, hub, split, licence, with_graph)
        console.print(f"written: {hub}", highlight=False, markup=False, soft_wrap=True)
        if saved.graph is not None:
            note = "note: the training graph and its labels are in the folder; --no-graph leaves "
            print(f"{note}them out", file=sys.stderr)
