"""The command that serves a model over HTTP."""

import sys
from typing import Annotated

import typer

from herofilter.cli.app import app
from herofilter.cli.model_options import ModelFolder, RunSplit, check_inputs
from herofilter.serve.limits import Limits

_USUAL = Limits()


@app.command(epilog="Example: herofilter serve model --port 8000")
def serve(
    model: ModelFolder,
    split: RunSplit = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine can ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8000,
    max_nodes: Annotated[
        int, typer.Option(help="Nodes per request at most, and ten times as many edges.")
    ] = _USUAL.max_nodes,
    max_bytes: Annotated[
        int, typer.Option(help="Size of a request's body at most.")
    ] = _USUAL.max_bytes,
) -> None:
    """Answer predictions and explanations over HTTP: /predict, /explain, /health, /docs."""
    from herofilter.serve.address import bind_address, check_extra, is_loopback, shown_url

    folder = check_inputs(model, split, None, None)
    limits = Limits(max_nodes, max_bytes)
    check_extra()
    with bind_address(host, port) as bound:
        if not is_loopback(bound):
            print(
                f"note: other machines can reach {shown_url(bound)}, and the service asks nobody "
                "for a password",
                file=sys.stderr,
            )

        from herofilter.predict import Predictor
        from herofilter.serve.app import create_app
        from herofilter.serve.server import run_server
        from herofilter.serve.service import Service

        run_server(create_app(Service(Predictor.load(folder), limits)), bound, str(model))
