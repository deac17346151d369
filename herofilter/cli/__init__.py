"""The command line: options, output and error messages of all commands."""

import sys
import warnings
from typing import Any

import typer

from herofilter.cli import (
    bench as bench,
    bench_ogb as bench_ogb,
    bench_tables as bench_tables,
    explain as explain,
    export as export,
    fit as fit,
    graphs as graphs,
    patch as patch,
    report as report,
    reproduce as reproduce,
    serve as serve,
    train as train,
    tune as tune,
)
from herofilter.cli.app import app, held
from herofilter.cli.started import mark_start
from herofilter.errors import failure_sentence
from herofilter.harmless import harmless
from herofilter.lazy_names import raised_by_import


def main() -> None:
    """Run the command line.

    What isn't a bug, be it a mistake, a full disk or too little memory, is one line of error and
    exit code 2.
    """
    mark_start()
    warnings.showwarning = _show_warning
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    try:
        with held:
            app()
    except Exception as error:
        sentence = failure_sentence(error)
        if sentence is None:
            raise
        print(harmless(f"error: {sentence}"), file=sys.stderr)
        raise SystemExit(2) from None
    except SystemExit as end:
        if isinstance(end.__context__, typer.Exit) and end.code == 130:
            print("stopped; the same command goes on with what is finished", file=sys.stderr)
        raise


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    # the user can't change what makes a library warn while it is imported
    if not raised_by_import():
        print(harmless(f"warning: {message}"), file=sys.stderr)
