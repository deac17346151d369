"""The command that explains predictions, and what a model rests on as a whole."""

from collections import deque
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from herofilter.callbacks import notify
from herofilter.cli.app import Json, app, print_json
from herofilter.cli.model_options import ModelFolder, RunSplit, check_inputs
from herofilter.cli.table_options import NewEdges, NewNodes, print_notes, with_columns
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import ConfigError

_USUAL = TableColumns()


@app.command(epilog='Example: herofilter explain model --node "user:42"')
@with_columns("split", "features")
def explain(
    model: ModelFolder,
    node: Annotated[str | None, typer.Option(help="The id of a node.")] = None,
    ids: Annotated[
        Path | None,
        typer.Option(help="Many nodes: a .txt file with an id a line, or a table with their ids."),
    ] = None,
    importance: Annotated[
        bool, typer.Option("--columns", help="How important each column is to the model.")
    ] = False,
    split: RunSplit = None,
    edges: NewEdges = None,
    nodes: NewNodes = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write all of it into: .csv or .json.")
    ] = None,
    columns: TableColumns = _USUAL,
    top: Annotated[int, typer.Option(help="How many tokens and columns to show.")] = 10,
    repeats: Annotated[int, typer.Option(help="With --columns: shuffles of each column.")] = 5,
    seed: Annotated[int, typer.Option(help="With --columns: seed of the shuffles.")] = 0,
    as_json: Json = False,
) -> None:
    """Explain predictions: which columns of the node and which other nodes count, and how much."""
    folder = check_inputs(model, split, edges, nodes)
    _check_asked(node, ids, importance, edges, nodes)
    _check_target(out)

    from herofilter.predict import Predictor
    from herofilter.report.progress import ProgressBar
    from herofilter.report.terminal import Console

    console = Console(quiet=as_json)
    if importance:
        from herofilter.report.explanation import importance_of_columns
        from herofilter.report.explanation_tables import importance_table, write_importance

        with ProgressBar("shuffling columns") as callback:
            measured = importance_of_columns(Predictor.load(folder), repeats, seed, callback)
        if out is not None:
            write_importance(out, measured)
        if as_json:
            print_json(measured)
        console.print(importance_table(measured))
        return

    from herofilter.data.tables.id_list import read_ids
    from herofilter.report.explanation import explain_nodes
    from herofilter.report.explanation_tables import (
        explanation_tables,
        summary_row,
        summary_table,
        write_explanations,
    )

    asked = read_ids(ids, columns) if ids is not None else (str(node),)
    explanations = explain_nodes(Predictor.load(folder), asked, edges, nodes, columns)
    first = next(explanations)
    print_notes(first["notes"], as_json)
    rows, kept = [], []

    def watched() -> Iterator[dict[str, Any]]:
        with ProgressBar("explaining", len(asked)) as callback:
            for each in chain([first], explanations):
                rows.append(summary_row(each))
                # of many only those that are printed are held
                kept.extend([each] * as_json)
                notify(callback, "rows", len(rows), len(asked))
                yield each

    if out is not None:
        write_explanations(out, watched())
    else:
        deque(watched(), maxlen=0)
    if as_json:
        print_json(first if ids is None else {"nodes": kept})
    for table in [summary_table(rows)] if ids is not None else explanation_tables(first, top):
        console.print(table)
    for line in () if ids is not None else first["said"]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _check_asked(
    node: str | None, ids: Path | None, importance: bool, edges: Path | None, nodes: Path | None
) -> None:
    given = [
        option
        for option, there in (("--node", node), ("--ids", ids), ("--columns", importance))
        if there
    ]
    if len(given) != 1:
        raise ConfigError(
            "explain must be told what to explain by one of --node, --ids and --columns "
            f"(got {' and '.join(given) or 'none of them'})"
        )
    if importance and (edges is not None or nodes is not None):
        raise ConfigError(
            "the importance of columns is measured on the model's own nodes "
            "(got tables); leave --edges and --nodes out"
        )
    if ids is not None:
        from herofilter.data.tables.table_path import table_ending

        table_ending(ids, "ids")


def _check_target(out: Path | None) -> None:
    from herofilter.files import check_file_target

    if out is None:
        return
    if out.suffix.lower() not in (".csv", ".json"):
        raise ConfigError(f"explanations must be written to a .csv or .json file (got {out})")
    check_file_target(out)
