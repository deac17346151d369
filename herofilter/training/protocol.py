"""One protocol for every model: build, train and score on each split."""

import dataclasses
import time
from collections.abc import Callable, Generator, Sequence
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
from herofilter.folders import locked_folder
from herofilter.nn.build import fast_patcher, resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.parallel.processes import run_jobs
from herofilter.patchers import PatchStore
from herofilter.patchers.store_writer import check_patches
from herofilter.training.artifacts.checkpoint import EVERY, Checkpoint
from herofilter.training.artifacts.graph_reference import GraphSource
from herofilter.training.artifacts.model_folder import SavedModel
from herofilter.training.artifacts.run_folder import RunFolder, follow_checkpoint
from herofilter.training.prepare import prepare
from herofilter.training.recipe import fit_prepared, saved_split
from herofilter.training.search.space import PATCHED
from herofilter.training.split_metrics import ranking_spreads, split_metrics, spread
from herofilter.training.team import Team

WORTH_A_PROCESS = 1000


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
    patches: PatchStore | None = None,
    team: Team | None = None,
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
        patches: the fast patcher's for this graph; made by the training itself by default.
        team: the processes that train each model together, all of which call this; the first one
            alone writes the run folder.

    Returns:
        ``graph``, ``model``, ``title`` (what the model is with these settings), ``config``,
        ``test_accuracy`` and ``val_accuracy`` (each with ``mean``, ``std``, ``values``), what
        :func:`ranking_spreads` returns, ``splits``, ``seconds``, ``interrupted``.
    """
    if workers < 1:
        raise ConfigError(f"workers must be at least 1 (got {workers})")
    # the others of a team write nothing
    with locked_folder(out if team is None or team.first else None):
        return _train_splits(
            data,
            model,
            config,
            splits,
            graph,
            out,
            callback,
            workers,
            checkpoint_every,
            source,
            patches,
            team,
        )


def _train_splits(
    data: Data,
    model: str,
    config: Config | None,
    splits: Sequence[int],
    graph: str,
    out: str | Path | None,
    callback: Callback | None,
    workers: int,
    checkpoint_every: float,
    source: GraphSource | None,
    patches: PatchStore | None,
    team: Team | None,
) -> dict[str, Any]:
    config = resolve_defaults(data, config or Config())
    if patches is not None:
        check_patched(patches, data, model, config)
    header = {
        "graph": graph,
        "variant": data.get("variant", ""),
        "model": model,
        "config": config.to_dict(),
    }
    writes = out is not None and (team is None or team.first)
    folder = RunFolder(Path(out), header, data, source) if out is not None and writes else None
    finished: dict[str, dict[str, Any]] = dict(folder.records) if folder is not None else {}
    if team is not None:
        finished = team.tell(finished)

    def checkpoint(split: int) -> Checkpoint | None:
        if folder is not None:
            return folder.checkpoint(str(split), checkpoint_every)
        # the others of a team continue from the first one's
        return None if out is None else follow_checkpoint(Path(out), header, str(split))

    interrupted = False
    prepared = prepare(data, config, model)
    if patches is not None:
        prepared.patch_store = patches
    spec = GraphSpec.of(prepared)
    jobs = [
        Job(
            prepared,
            spec,
            model,
            config,
            split,
            checkpoint(split),
            kept=folder is not None,
            team=team,
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


def check_patched(patches: PatchStore, data: Data, model: str, config: Config) -> None:
    """Raise an error unless a model with these settings reads these patches of the graph."""
    if model == "fast-herofilter":
        config = config.replace(patcher="fast")
    if model not in PATCHED or config.patcher.patcher != "fast":
        raise ConfigError(
            "patches must be given to the model fast-herofilter, or herofilter with patcher=fast "
            f"(got {model} with patcher={config.patcher.patcher}); leave --model and --patcher out"
        )
    check_patches(patches, fast_patcher(data, config), data)


def notify_split(
    callback: Callback | None, split: int, metrics: dict[str, Any], done: int, total: int
) -> None:
    """Report a finished split, with its accuracies."""
    values = {key: metrics[key] for key in ("val_accuracy", "test_accuracy")}
    notify(callback, "split", done, total, f"split {split}", {"split": split, **values})


def default_workers(data: Data, splits: Sequence[int], device: str = "cpu") -> int:
    """Return how many processes are worth their start: one per core, but one on tiny graphs.

    Splits have a device other than the CPU to themselves, one after the other.
    """
    small = int(data.num_nodes or 0) < WORTH_A_PROCESS
    return 1 if small or device != "cpu" else max(1, min(psutil.cpu_count() or 1, len(splits)))


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
    team: Team | None = None


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
        team=job.team,
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
