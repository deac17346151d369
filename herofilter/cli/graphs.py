"""The commands list, info and pack."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import herofilter
from herofilter.cli.app import GRAPH, Graph, Json, app, hold_folder, print_json
from herofilter.cli.table_options import (
    KnownLabel,
    NewEdges,
    NewNodes,
    Undirected,
    print_notes,
    with_columns,
)
from herofilter.data.tables.table_columns import TableColumns

if TYPE_CHECKING:
    from herofilter.nn.registry import ModelEntry

_USUAL = TableColumns()


@app.command("list", epilog="Example: herofilter list --models")
def list_command(
    models: Annotated[bool, typer.Option("--models", help="Only the models.")] = False,
    datasets: Annotated[bool, typer.Option("--datasets", help="Only the datasets.")] = False,
    as_json: Json = False,
) -> None:
    """List datasets, with what is on disk, and models, with what they need; both by default."""
    from herofilter.data import list_datasets, on_disk
    from herofilter.report.console import dataset_table, model_table
    from herofilter.report.terminal import Console

    graphs = [(info, on_disk(info.name)) for info in list_datasets()]
    known = herofilter.list_models()
    if as_json:
        listed = {}
        if datasets or not models:
            listed["datasets"] = [
                {"name": i.name, "splits": i.num_splits, "variant": i.variant, "on_disk": there}
                for i, there in graphs
            ]
        if models or not datasets:
            listed["models"] = [_fields(entry) for entry in known]
        print_json(listed)
        return
    console = Console()
    if datasets or not models:
        console.print(dataset_table(graphs))
    if models or not datasets:
        console.print(model_table(known))


def _fields(entry: "ModelEntry") -> dict[str, object]:
    return {
        "name": entry.name,
        "paper": entry.paper,
        "needs": entry.needs,
        "scales": entry.scales,
        "batches": entry.batches,
        "directed": entry.directed,
        "options": {key: list(values) for key, values in entry.options.items()},
    }


@app.command(
    epilog="Example: herofilter info karate, or herofilter info --edges edges.csv "
    "--nodes nodes.csv --label topic"
)
@with_columns()
def info(
    graph: Annotated[str | None, GRAPH] = None,
    edges: NewEdges = None,
    nodes: NewNodes = None,
    label: KnownLabel = None,
    columns: TableColumns = _USUAL,
    undirected: Undirected = False,
    as_json: Json = False,
) -> None:
    """Print a graph's data card: size, irregularities, heterophily, memory that patches need."""
    from herofilter.data.graph_path import check_graph_name
    from herofilter.data.tables.table_path import table_ending
    from herofilter.errors import ConfigError

    if (graph is None) == (edges is None):
        raise ConfigError(
            "info must have a graph or a table of edges "
            f"(got {'neither' if graph is None else 'both'}); give GRAPH, or --edges, --nodes and "
            "--label"
        )
    if graph is not None:
        check_graph_name(graph)
    elif nodes is None or label is None:
        raise ConfigError(
            "the card of tables needs the classes of the nodes (got none); give --nodes and --label"
        )
    for table, what in ((edges, "edges"), (nodes, "nodes")):
        if table is not None:
            table_ending(table, what)

    from herofilter.data import check_graph
    from herofilter.data.tables.read_graph import read_tables
    from herofilter.measures import data_card
    from herofilter.patchers import patcher_memory
    from herofilter.report.console import card_table
    from herofilter.report.terminal import Console

    classes: tuple[str | int | bool, ...] = ()
    notes: tuple[str, ...] = ()
    if edges is None:
        name = str(graph)
        data = herofilter.load_dataset(name, split=None)
    else:
        columns = replace(columns, label=label)
        found = read_tables(edges, nodes, columns, directed=not undirected)
        notes = found.notes
        print_notes(notes, as_json)
        name, classes, data = Path(str(nodes)).stem, found.shown_classes, found.data
    check_graph(data, split_required=False)
    card = data_card(data, name, patcher_memory(data), classes)
    if as_json:
        print_json({**card.to_dict(), **({"notes": list(notes)} if edges else {})})
    else:
        Console().print(card_table(card))


@app.command(epilog="Example: herofilter pack snap-patents --out patents --half")
def pack(
    graph: Graph,
    out: Annotated[Path | None, typer.Option(help="Folder to write.")] = None,
    half: Annotated[
        bool, typer.Option("--half", help="Keep features in half precision, three digits.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Write nothing; check every byte of a graph folder.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a graph as a folder whose features are read from disk, row by row."""
    from herofilter.data.graph_path import check_graph_folder, check_graph_name
    from herofilter.errors import ConfigError

    if verify:
        check_graph_folder(Path(graph).expanduser().resolve())
    elif out is None:
        raise ConfigError("the folder to write must be given (got none); give --out FOLDER")
    else:
        check_graph_name(graph)
        hold_folder(out)

    from herofilter.data import save_graph_folder, verify_graph_folder
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console

    if out is None or verify:
        verify_graph_folder(graph)
        result, line = {"folder": graph, "whole": True}, f"every byte is as written: {graph}"
    else:
        data = herofilter.load_dataset(graph, split=None)
        with ProgressBar("writing") as callback:
            save_graph_folder(data, out, half, callback)
        size = sum(file.stat().st_size for file in out.iterdir())
        result = {"out": str(out), "nodes": int(data.num_nodes), "bytes": size}
        line = f"{data.num_nodes} nodes, {size / 2**20:.1f} MiB: {out}"
    if as_json:
        print_json(result)
    else:
        Console().print(line, highlight=False, markup=False, soft_wrap=True)
