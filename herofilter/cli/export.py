"""The command that writes a model for other programs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from herofilter.cli.app import app
from herofilter.cli.model_options import ModelFolder, RunSplit, check_inputs


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
