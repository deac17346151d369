"""What an engine is: it runs one function over many jobs and yields what they return."""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from herofilter.errors import ConfigError, MissingExtraError, check_choice

ENGINES = ("local", "ray")
Engine = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Takes a function at the top level of a module and its arguments, one per job, and yields the
results as they come, in any order. A job may run more than once, so its result must be a file that
appears complete or not at all."""


def check_engine(engine: str, address: str | None = None) -> None:
    """Raise an error unless the engine is known, installed and may have an address."""
    check_choice("engine", engine, ENGINES)
    if engine == "ray" and importlib.util.find_spec("ray") is None:
        raise MissingExtraError("ray", "the engine ray")
    if address is not None and engine != "ray":
        raise ConfigError(f"address must be given with --engine ray only (got {address!r})")
