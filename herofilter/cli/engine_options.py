"""The options of commands that may run on a cluster."""

from typing import Annotated

import typer

Engine = Annotated[str, typer.Option(help="local: this machine; ray: a Ray cluster.")]
Address = Annotated[
    str | None,
    typer.Option(help="Of the cluster's head, such as 10.0.0.1:6379; else RAY_ADDRESS."),
]
