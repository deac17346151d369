"""The options that say which model is used, and the checks that come before torch is loaded."""

from pathlib import Path
from typing import Annotated

import typer

ModelFolder = Annotated[Path, typer.Argument(help="A folder that fit or train has written.")]
RunSplit = Annotated[
    int | None, typer.Option("--split", help="Which split of a run, if it has several.")
]


def check_inputs(model: Path, split: int | None, edges: Path | None, nodes: Path | None) -> Path:
    """Return the model folder; raise an error if there is none or a table is missing.

    Nothing here loads torch.
    """
    from herofilter.data.tables.table_path import table_ending
    from herofilter.training.artifacts.locate import locate_model

    folder = locate_model(model, split)
    for table, what in ((edges, "edges"), (nodes, "nodes")):
        if table is not None:
            table_ending(table, what)
    return folder
