"""The command line: options, output and error messages of all commands."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from herofilter.cli import (
    bench as bench,
    bench_ogb as bench_ogb,
    bench_tables as bench_tables,
    explain as explain,
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
        with held, _complete_output():
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


@contextmanager
def _complete_output() -> Iterator[None]:
    """Write all that was printed before the block ends, so that a full disk is an error like any.

    The interpreter would try at its end, and show a traceback.
    """
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            # what is left would be tried again
            with suppress(OSError, ValueError):
                sink = os.open(os.devnull, os.O_WRONLY)
                os.dup2(sink, sys.stdout.fileno())
                os.close(sink)
            if isinstance(error, BrokenPipeError):
                # whoever reads has seen enough
                raise SystemExit(1) from None
            raise


def _show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    # the user can't change what makes a library warn while it is imported
    if not raised_by_import():
        print(harmless(f"warning: {message}"), file=sys.stderr)
