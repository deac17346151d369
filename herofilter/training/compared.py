"""Other models on the splits of a run, to stand beside its own in the report."""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.errors import ConfigError, MissingExtraError
from herofilter.nn.registry import find_model
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.protocol import train_splits

COMPARED = "compared"


def check_compared(names: Sequence[str], model: str) -> None:
    """Raise an error unless ``names`` are models that can be trained beside ``model``."""
    for name in names:
        find_model(name)
        if name.endswith("booster") and importlib.util.find_spec("sklearn") is None:
            raise MissingExtraError("tables", "training a booster")
    if model in names or len(set(names)) < len(names):
        raise ConfigError(
            f"compare must name models other than {model}, each once (got {','.join(names)})"
        )


def train_compared(
    data: Data,
    names: Sequence[str],
    splits: Sequence[int],
    graph: str,
    run: Path,
    seed: int = 0,
    callback: Callback | None = None,
    workers: int = 1,
    source: GraphSource | None = None,
) -> Iterator[dict[str, Any]]:
    """Train models on some splits, each into a run folder of its own in ``run/compared``.

    They have their recommended settings; what is finished already is kept. The report of ``run``
    then shows them beside its own model, with differences split by split.

    Args:
        data: a graph with ``[n, s]`` masks.
        names: registered models.
        splits: those of the run.
        graph: the graph's name, for the record.
        run: the run folder.
        seed: of the run.
        callback, workers, source: as for :func:`~herofilter.training.train_splits`.

    Yields:
        the summary of each model's run.
    """
    config = Config().replace(seed=seed)
    for name in names:
        folder = run / COMPARED / name
        yield train_splits(
            data, name, config, splits, graph, folder, callback, workers, source=source
        )
