"""The application that every command registers with, the options they share, and JSON output."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

import herofilter
from herofilter.errors import ConfigError

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
GRAPH = typer.Argument(help="A dataset's name, or the path of an .npz graph or a graph folder.")
Graph = Annotated[str, GRAPH]
# what is let go of when the command ends
held = ExitStack()


def _print_version(asked: bool) -> None:
    if asked:
        print(f"herofilter {herofilter.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Handle the options that come before a command."""


def parse_splits(text: str) -> list[int] | None:
    """Return the split numbers in a text, in ascending order, or None for ``all``.

    Example:
        >>> parse_splits("2,0"), parse_splits("all")
        ([0, 2], None)
    """
    if text == "all":
        return None
    try:
        return sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise ConfigError(f"splits must be all or numbers such as 0,1,2 (got {text!r})") from None


def select_splits(asked: list[int] | None, available: int) -> list[int]:
    """Return the splits to train on, or raise an error if the graph doesn't have one of them.

    Example:
        >>> select_splits(None, 3), select_splits([0, 2], 3)
        ([0, 1, 2], [0, 2])
    """
    if asked is None:
        return list(range(available))
    for split in asked:
        if not 0 <= split < available:
            raise ConfigError(
                f"a split must be between 0 and {available - 1} (got {split}); "
                f"the graph has {available} splits"
            )
    return asked


def hold_folder(folder: Path) -> None:
    """Try whether files can be written into a folder, and keep other commands out of it.

    It is let go of when the command ends, and gone if nothing was written.
    """
    from herofilter.files import check_folder_target
    from herofilter.folders import locked_folder

    check_folder_target(folder)
    held.enter_context(locked_folder(folder))


def check_files(*paths: Path | None) -> None:
    """Try whether the files that an option names, if any, can be written."""
    from herofilter.files import check_file_target

    for path in paths:
        if path is not None:
            check_file_target(path)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2))
