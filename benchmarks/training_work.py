"""One training in a process of its own: seconds, epochs and the peak of memory."""

import os
import tempfile
import time
from typing import Any

from herofilter import Config, HeroFilterError, csbm, load_dataset
from herofilter.parallel.threads import one_thread
from herofilter.reproduce.speed.child import peak_gib
from herofilter.training import prepare
from herofilter.training.recipe import train_split

SPLIT = 0


def training_config(epochs: int | None = None) -> Config:
    """Return the settings of every model: the recommended ones, or so many epochs without a stop.

    Example:
        >>> training_config(20).train.patience
        20
    """
    return Config() if epochs is None else Config().replace(epochs=epochs, patience=epochs)


def measure_training(graph: str, model: str, epochs: int | None = None) -> dict[str, Any]:
    """Train a model on the first split of a graph, on one thread, and return what it took.

    ``seconds`` counts all from the graph as it was read to the trained model; of these,
    ``precompute_seconds`` are for preparing the graph and building the model with its patches and
    eigenvectors. No cache of an earlier run is used, and test labels aren't read.
    """
    data, config = load_dataset(graph, split=None), training_config(epochs)
    _warm_up(model)
    before = _peak_mib()
    with one_thread(), tempfile.TemporaryDirectory() as empty:
        os.environ["HEROFILTER_CACHE"] = empty
        started = time.perf_counter()
        _, result = train_split(
            prepare(data, config, model), model, config, SPLIT, score_test=False
        )
        seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "precompute_seconds": seconds - result.seconds,
        "epochs": len(result.history),
        "seconds_per_epoch": result.seconds / len(result.history),
        "peak_mib": _peak_mib(),
        "peak_mib_before": before,
        "val_accuracy": result.val.accuracy,
    }


def _warm_up(model: str) -> None:
    """Load compiled code by a short training on a tiny graph."""
    tiny, config = csbm(num_nodes=60, num_classes=3, num_features=8), training_config(2)
    try:
        train_split(prepare(tiny, config, model), model, config, SPLIT, score_test=False)
    except HeroFilterError:
        # a model that refuses this graph may still take the real one
        return


def _peak_mib() -> float:
    return 1024 * peak_gib()
