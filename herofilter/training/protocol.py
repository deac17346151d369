"""One protocol for every model: build, train and score on each split."""

import dataclasses
import statistics
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify, with_values
from herofilter.config import Config
from herofilter.data import select_split
from herofilter.errors import ConfigError
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.parallel.processes import run_jobs
from herofilter.training.artifacts.checkpoint import EVERY, Checkpoint
from herofilter.training.artifacts.run_folder import RunFolder
from herofilter.training.loop import TrainResult, train
from herofilter.training.prepare import prepare
from herofilter.training.seeding import seeded

WORTH_A_PROCESS = 1000
MORE_MEASURES = ("balanced_accuracy", "macro_f1", "auc", "average_precision", "calibration_error")
RANKING_MEASURES = ("test_auc", "test_average_precision", "val_auc")


def train_splits(
    data: Data,
    model: str = "herofilter",
    config: Config | None = None,
    splits: Sequence[int] = (0,),
    graph: str = "graph",
    out: str | Path | None = None,
    callback: Callback | None = None,
    workers: int = 1,
    checkpoint_every: float = EVERY,
) -> dict[str, Any]:
    """Train a registered model on some splits of a graph and return the summary.

    Args:
        data: a graph with ``[n, s]`` masks.
        model: a registered name.
        config: the settings; recommended ones by default.
        splits: which columns of the masks.
        graph: the graph's name, for the record.
        out: a run folder to write, or to continue: finished splits are kept, and one that was
            under way continues from its last checkpoint, to the same result as without a stop.
        callback: takes an event of stage ``split`` for each split that is finished, those of an
            earlier call first, and with one worker also those of stage ``epoch``; the value
            ``split`` is the number of the split.
        workers: processes that splits are shared out to. Up to 50 000 nodes each training uses
            one thread, so the results don't depend on how many there are.
        checkpoint_every: seconds between two checkpoints of a split at least.

    Returns:
        ``graph``, ``model``, ``title`` (what the model is with these settings), ``config``,
        ``test_accuracy`` and ``val_accuracy`` (each with ``mean``, ``std``, ``values``), what
        :func:`ranking_spreads` returns, ``splits``, ``seconds``, ``interrupted``.
    """
    if workers < 1:
        raise ConfigError(f"workers must be at least 1 (got {workers})")
    config = resolve_defaults(data, config or Config())
    header = {
        "graph": graph,
        "variant": data.get("variant", ""),
        "model": model,
        "config": config.to_dict(),
    }
    folder = RunFolder(Path(out), header) if out is not None else None
    finished: dict[str, dict[str, Any]] = dict(folder.records) if folder is not None else {}
    interrupted = False
    prepared = prepare(data, config, model)
    jobs = [
        Job(
            prepared,
            model,
            config,
            split,
            None if folder is None else folder.checkpoint(str(split), checkpoint_every),
        )
        for split in splits
        if str(split) not in finished
    ]
    kept = [split for split in splits if str(split) in finished]
    for done, split in enumerate(kept, 1):
        notify_split(callback, split, finished[str(split)], done, len(splits))
    try:
        with closing(_outcomes(jobs, min(workers, len(jobs)), callback)) as outcomes:
            for done, (job, metrics, history, state) in enumerate(outcomes, len(kept) + 1):
                finished[str(job.split)] = metrics
                interrupted = metrics["interrupted"]
                if interrupted:
                    break
                if folder is not None:
                    folder.add(str(job.split), metrics, history, state)
                notify_split(callback, job.split, metrics, done, len(splits))
    except KeyboardInterrupt:
        if not any(str(split) in finished for split in splits):
            raise
        interrupted = True
    chosen = [finished[str(split)] for split in splits if str(split) in finished]
    summary = {
        **header,
        "title": model_title(model, resolve(prepared, config)),
        "test_accuracy": spread([entry["test_accuracy"] for entry in chosen]),
        "val_accuracy": spread([entry["val_accuracy"] for entry in chosen]),
        **ranking_spreads(chosen),
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
    callback: Callback | None = None,
    score_test: bool = True,
    checkpoint: Checkpoint | None = None,
) -> tuple[NodeClassifier, TrainResult]:
    """Build a registered model for a prepared graph, train it on one split, return both."""
    config = resolve_defaults(prepared, config)
    with seeded(config.train.seed):
        network = find_model(model).build(prepared, config)
    return network, train(
        network, select_split(prepared, split), config.train, callback, score_test, checkpoint
    )


def split_metrics(result: TrainResult, seconds: float) -> dict[str, Any]:
    """Return one split's metrics, ready for JSON; ``seconds`` counts patches and training."""
    return {
        "test_accuracy": result.test.accuracy,
        "test_loss": result.test.loss,
        "val_accuracy": result.val.accuracy,
        "val_loss": result.val.loss,
        "val_auc": result.val.auc,
        "train_accuracy": result.train.accuracy,
        "best_epoch": result.best_epoch,
        "epochs": len(result.history),
        "seconds": seconds,
        "interrupted": result.interrupted,
        **{f"test_{name}": result.report.get(name) for name in MORE_MEASURES},
    }


def notify_split(
    callback: Callback | None, split: int, metrics: dict[str, Any], done: int, total: int
) -> None:
    """Report a finished split, with its accuracies."""
    values = {key: metrics[key] for key in ("val_accuracy", "test_accuracy")}
    notify(callback, "split", done, total, f"split {split}", {"split": split, **values})


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation (0 for one value) and the values.

    Example:
        >>> spread([0.5, 0.7])["mean"]
        0.6
    """
    std = statistics.stdev(values) if len(values) > 1 else 0.0
    mean = statistics.fmean(values) if values else float("nan")
    return {"mean": mean, "std": std, "values": list(values)}


def ranking_spreads(metrics: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any] | None]:
    """Return ``test_auc``, ``test_average_precision`` and ``val_auc`` over splits.

    Each has ``mean``, ``std`` and ``values``, or is None where a split lacks it.
    """
    found: dict[str, dict[str, Any] | None] = {}
    for name in RANKING_MEASURES:
        values = [entry.get(name) for entry in metrics]
        known = [value for value in values if value is not None]
        found[name] = spread(known) if known and len(known) == len(values) else None
    return found


def default_workers(data: Data, splits: Sequence[int]) -> int:
    """Return how many processes are worth their start: one per core, but one on tiny graphs."""
    small = int(data.num_nodes or 0) < WORTH_A_PROCESS
    return 1 if small else max(1, min(psutil.cpu_count() or 1, len(splits)))


@dataclasses.dataclass(frozen=True)
class Job:
    """One training of a registered model."""

    prepared: Data
    model: str
    config: Config
    split: int
    checkpoint: Checkpoint | None = None


Outcome = tuple[Job, dict[str, Any], list[dict[str, Any]], dict[str, Tensor]]


def _outcomes(
    jobs: Sequence[Job], workers: int, callback: Callback | None
) -> Generator[Outcome, None, None]:
    by_split = {job.split: job for job in jobs}
    if workers > 1:
        for split, metrics, history, arrays in run_jobs(_run_in_process, jobs, workers):
            state = {key: torch.from_numpy(array) for key, array in arrays.items()}
            yield by_split[split], metrics, history, state
        return
    for job in jobs:
        yield job, *_run_job(job, with_values(callback, split=job.split))[1:]


def _run_job(
    job: Job, callback: Callback | None = None
) -> tuple[int, dict[str, Any], list[dict[str, Any]], dict[str, Tensor]]:
    started = time.perf_counter()
    network, result = train_split(
        job.prepared, job.model, job.config, job.split, callback, checkpoint=job.checkpoint
    )
    earlier = 0.0 if job.checkpoint is None else job.checkpoint.earlier
    metrics = split_metrics(result, earlier + time.perf_counter() - started)
    history = [dataclasses.asdict(epoch) for epoch in result.history]
    return job.split, metrics, history, network.state_dict()


def _run_in_process(
    job: Job,
) -> tuple[int, dict[str, Any], list[dict[str, Any]], dict[str, np.ndarray]]:
    # plain arrays: a tensor's shared memory would vanish with the worker
    split, metrics, history, state = _run_job(job)
    return split, metrics, history, {key: value.numpy() for key, value in state.items()}
