"""What the commands share: the application, common options, small helpers."""

import json
from typing import Annotated, Any

import typer

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
Graph = Annotated[
    str, typer.Argument(help="A dataset's name, or the path of an .npz graph or a graph folder.")
]


def parse_splits(text: str, available: int) -> list[int]:
    """Return the numbers of the splits that a text names."""
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


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2))
