"""One protocol for every model: build, train and score on each split."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback, notify, with_values
from herofilter.config import Config
from herofilter.data.graph_spec import GraphSpec
from herofilter.errors import ConfigError
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.parallel.processes import run_jobs
from herofilter.training.artifacts.checkpoint import EVERY, Checkpoint
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.run_folder import RunFolder
from herofilter.training.loop import TrainResult
from herofilter.training.prepare import prepare
from herofilter.training.recipe import fit_prepared, saved_split

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
    source: GraphSource | None = None,
) -> dict[str, Any]:
    """Train a registered model on some splits of a graph and return the summary.

    Args:
        data: a graph with ``[n, s]`` masks.
        model: a registered name.
        config: the settings; recommended ones by default.
        splits: which columns of the masks.
        graph: the graph's name, for the record.
        out: a run folder to write, or to continue: finished splits are kept, each as a model
            folder, and one that was under way continues from its last checkpoint, to the same
            result as without a stop.
        callback: takes an event of stage ``split`` for each split that is finished, those of an
            earlier call first, and with one worker also those of stage ``epoch``; the value
            ``split`` is the number of the split.
        workers: processes that splits are shared out to. Up to 50 000 nodes each training uses
            one thread, so the results don't depend on how many there are.
        checkpoint_every: seconds between two checkpoints of a split at least.
        source: where the graph was loaded from, so that the run folder needs no copy of it.

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
    folder = RunFolder(Path(out), header, data, source) if out is not None else None
    finished: dict[str, dict[str, Any]] = dict(folder.records) if folder is not None else {}
    interrupted = False
    prepared = prepare(data, config, model)
    spec = GraphSpec.of(prepared)
    jobs = [
        Job(
            prepared,
            spec,
            model,
            config,
            split,
            None if folder is None else folder.checkpoint(str(split), checkpoint_every),
            kept=folder is not None,
        )
        for split in splits
        if str(split) not in finished
    ]
    kept = [split for split in splits if str(split) in finished]
    for done, split in enumerate(kept, 1):
        notify_split(callback, split, finished[str(split)], done, len(splits))
    try:
        with closing(_outcomes(jobs, min(workers, len(jobs)), callback)) as outcomes:
            for done, outcome in enumerate(outcomes, len(kept) + 1):
                split, metrics = outcome.split, outcome.metrics
                finished[str(split)] = metrics
                interrupted = metrics["interrupted"]
                if interrupted:
                    break
                if folder is not None and outcome.saved is not None:
                    folder.add(split, metrics, outcome.saved)
                notify_split(callback, split, metrics, done, len(splits))
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
    """One training of a registered model; ``kept`` says whether the model is to be saved."""

    prepared: Data
    spec: GraphSpec
    model: str
    config: Config
    split: int
    checkpoint: Checkpoint | None = None
    kept: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one training gave.

    Args:
        split: of which split.
        metrics: its measures, ready for JSON.
        saved: what is kept of the model; None where nothing is written.
    """

    split: int
    metrics: dict[str, Any]
    saved: SavedModel | None = None


def _outcomes(
    jobs: Sequence[Job], workers: int, callback: Callback | None
) -> Generator[Outcome, None, None]:
    if workers > 1:
        for outcome in run_jobs(_run_in_process, jobs, workers):
            yield _with_state(outcome, torch.from_numpy)
        return
    for job in jobs:
        yield _run_job(job, with_values(callback, split=job.split))


def _run_job(job: Job, callback: Callback | None = None) -> Outcome:
    started = time.perf_counter()
    trained = fit_prepared(
        job.prepared,
        job.spec,
        job.model,
        job.config,
        job.split,
        callback,
        score_test=True,
        checkpoint=job.checkpoint,
    )
    earlier = 0.0 if job.checkpoint is None else job.checkpoint.earlier
    metrics = split_metrics(trained.result, earlier + time.perf_counter() - started)
    if not job.kept or trained.result.interrupted:
        return Outcome(job.split, metrics)
    return Outcome(job.split, metrics, saved_split(trained, metrics))


def _run_in_process(job: Job) -> Outcome:
    # plain arrays: a tensor's shared memory would vanish with the worker
    return _with_state(_run_job(job), lambda value: value.numpy())


def _with_state(outcome: Outcome, change: Callable[[Any], Any]) -> Outcome:
    if outcome.saved is None:
        return outcome
    state = {name: change(value) for name, value in outcome.saved.state.items()}
    return dataclasses.replace(outcome, saved=dataclasses.replace(outcome.saved, state=state))
