"""The option that names experiment trackers."""

from typing import Annotated

import typer

Log = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        help="Also log to a tracker: mlflow, mlflow:URI, tensorboard or tensorboard:DIR. "
        "May be repeated.",
    ),
]
