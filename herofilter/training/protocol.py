"""One protocol for every model: build, train and score on each split."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import select_split
from herofilter.nn import NodeClassifier, find_model
from herofilter.training.loop import Epoch, TrainResult, train
from herofilter.training.prepare import prepare
from herofilter.training.run_folder import RunFolder
from herofilter.training.seeding import seeded

OnEpoch = Callable[[int, Epoch], None]


def train_splits(
    data: Data,
    model: str = "herofilter",
    config: Config | None = None,
    splits: Sequence[int] = (0,),
    graph: str = "graph",
    out: str | Path | None = None,
    on_epoch: OnEpoch | None = None,
) -> dict[str, Any]:
    """Train a registered model on some splits of a graph and return the summary.

    Args:
        data: a graph with ``[n, s]`` masks.
        model: a registered name.
        config: the settings; recommended ones by default.
        splits: which columns of the masks.
        graph: the graph's name, for the record.
        out: a run folder to write, or to continue.
        on_epoch: called with the split and the epoch.

    Returns:
        ``graph``, ``model``, ``config``, ``test_accuracy`` and ``val_accuracy`` (each with
        ``mean``, ``std``, ``values``), ``splits``, ``seconds``, ``interrupted``.
    """
    config = config or Config()
    header = {
        "graph": graph,
        "variant": data.get("variant", ""),
        "model": model,
        "config": config.to_dict(),
    }
    folder = RunFolder(Path(out), header) if out is not None else None
    finished: dict[str, dict[str, Any]] = dict(folder.splits) if folder is not None else {}
    interrupted = False
    prepared = prepare(data, config)
    for split in splits:
        if str(split) in finished:
            continue
        started = time.perf_counter()
        report = None if on_epoch is None else _bind(on_epoch, split)
        network, result = train_split(prepared, model, config, split, report)
        finished[str(split)] = split_metrics(result, time.perf_counter() - started)
        interrupted = result.interrupted
        if interrupted:
            break
        if folder is not None:
            history = [dataclasses.asdict(epoch) for epoch in result.history]
            folder.add(str(split), finished[str(split)], history, network.state_dict())
    chosen = [finished[str(split)] for split in splits if str(split) in finished]
    summary = {
        **header,
        "test_accuracy": spread([entry["test_accuracy"] for entry in chosen]),
        "val_accuracy": spread([entry["val_accuracy"] for entry in chosen]),
        "splits": [split for split in splits if str(split) in finished],
        "seconds": sum(entry["seconds"] for entry in chosen),
        "interrupted": interrupted,
    }
    if folder is not None and not interrupted:
        folder.finish({key: value for key, value in summary.items() if key != "splits"})
    return summary


def train_split(
    prepared: Data,
    model: str,
    config: Config,
    split: int,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> tuple[NodeClassifier, TrainResult]:
    """Build a registered model for a prepared graph, train it on one split, return both."""
    with seeded(config.train.seed):
        network = find_model(model).build(prepared, config)
    return network, train(network, select_split(prepared, split), config.train, on_epoch)


def split_metrics(result: TrainResult, seconds: float) -> dict[str, Any]:
    """Return one split's numbers, ready for JSON; ``seconds`` counts patches and training."""
    return {
        "test_accuracy": result.test.accuracy,
        "test_loss": result.test.loss,
        "val_accuracy": result.val.accuracy,
        "val_loss": result.val.loss,
        "train_accuracy": result.train.accuracy,
        "best_epoch": result.best_epoch,
        "epochs": len(result.history),
        "seconds": seconds,
        "interrupted": result.interrupted,
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation (0 for one value) and the values.

    Example:
        >>> spread([0.5, 0.7])["mean"]
        0.6
    """
    std = statistics.stdev(values) if len(values) > 1 else 0.0
    mean = statistics.fmean(values) if values else float("nan")
    return {"mean": mean, "std": std, "values": list(values)}


def _bind(on_epoch: OnEpoch, split: int) -> Callable[[Epoch], None]:
    return lambda epoch: on_epoch(split, epoch)
