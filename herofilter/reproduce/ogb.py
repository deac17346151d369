"""Ten seeds of one model on one graph, with all that an OGB leaderboard asks for."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import num_splits
from herofilter.data.datasets.registry import REGISTRY
from herofilter.devices import find_device
from herofilter.errors import ConfigError, HeroFilterError
from herofilter.nn import find_model
from herofilter.nn.build import resolve
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.nn.naming import model_title
from herofilter.parallel.threads import is_small
from herofilter.reproduce.checks import check_workers
from herofilter.reproduce.hardware import hardware
from herofilter.reproduce.jobs import JobFile, Outcome, TrainingJob, run_pending
from herofilter.reproduce.published import all_environments
from herofilter.reproduce.studies.graphs import kept_graph
from herofilter.training import prepare
from herofilter.training.recipe import train_split
from herofilter.training.search.space import changed_settings
from herofilter.training.split_metrics import split_metrics, spread

# what OGB asks for: the seeds 0 to 9
SEEDS = tuple(range(10))
GRAPH, MODEL = "ogbn-arxiv", "herofilter"
OFFICIAL = "ogb"


@dataclass(frozen=True)
class SeedJob(TrainingJob):
    """One training of a submission; ``graph`` may name its split, such as ``ogbn-arxiv:ogb``."""

    @property
    def file_name(self) -> str:
        return super().file_name.replace(":", "-")


def run_seed(job: SeedJob) -> Outcome:
    """Run one training and count the weights that it moved."""
    try:
        prepared = prepare(kept_graph(job.graph), job.config, job.model)
        started = time.perf_counter()
        network, result = train_split(prepared, job.model, job.config, job.split)
    except HeroFilterError as error:
        return Outcome(job, failure=str(error))
    if result.interrupted:
        raise KeyboardInterrupt
    metrics = split_metrics(result, time.perf_counter() - started)
    count = sum(one.numel() for one in network.parameters() if one.requires_grad)
    return Outcome(job, {**metrics, "parameters": count})


def run_ogb(
    out: Path,
    graph: str = GRAPH,
    model: str = MODEL,
    settings: Sequence[str] = (),
    workers: int | None = None,
    callback: Callback | None = None,
    seeds: Sequence[int] = SEEDS,
) -> dict[str, Any]:
    """Train a model with each seed on a graph's official split and return the submission.

    Finished seeds are kept in ``out``; the same call continues from them.

    Args:
        out: the folder of finished trainings.
        graph: a dataset; without an official split of OGB's its first split is taken.
        model: a registered model.
        settings: ``key=value`` settings that differ from the recommended ones.
        workers: processes; by default one per core up to 50 000 nodes, else one.
        callback: takes an event of stage ``job`` for every seed that is finished.
        seeds: of weights, dropout and batches.

    Returns:
        ``graph``, ``variant``, ``official`` (whether it is a task of OGB's), ``model``, ``title``,
        ``seeds``, ``test_accuracy`` and ``val_accuracy`` (each with ``mean``, unbiased ``std`` and
        ``values``), ``parameters``, ``hardware``, ``command``, ``config``, ``changed``,
        ``environments`` and ``seconds``.
    """
    find_model(model)
    if len(seeds) < 2 or len(set(seeds)) < len(seeds):
        raise ConfigError(f"seeds must be at least two, all different (got {list(seeds)})")
    config = Config().with_settings(settings)
    find_device(config.train.device)
    info = REGISTRY.get(graph)
    named = info is not None and OFFICIAL in info.named
    name = f"{graph}:{OFFICIAL}" if named else graph
    data = kept_graph(name)
    if not num_splits(data):
        raise ConfigError(f"the graph must have a split (got none for {graph}); choose another")
    config = resolve_defaults(data, config)
    variant = str(data.get("variant", ""))
    usual = _usual_workers(int(data.num_nodes or 0), config.train.device, len(seeds))
    workers = usual if workers is None else workers
    check_workers(workers)
    jobs = [SeedJob(name, model, model, config.replace(seed=seed), 0) for seed in seeds]
    files = {job.file_name: JobFile(out, job, variant) for job in jobs}
    pending = [job for job in jobs if str(job.split) not in files[job.file_name]]

    def keep(outcome: Outcome) -> None:
        files[outcome.job.file_name].keep(outcome.job.split, outcome.metrics, workers)

    run_pending(run_seed, pending, len(jobs), workers, keep, callback)
    found = [files[job.file_name].records[str(job.split)] for job in jobs]
    return {
        "graph": graph,
        "variant": variant,
        # its structure alone is another task
        "official": named and graph.startswith("ogbn-"),
        "model": model,
        "title": model_title(model, resolve(data, config)),
        "seeds": list(seeds),
        **{key: spread([one[key] for one in found]) for key in ("test_accuracy", "val_accuracy")},
        "parameters": max(one["parameters"] for one in found),
        "hardware": hardware(config.train.device),
        "command": _command(graph, model, settings),
        "config": config.to_dict(),
        "changed": changed_settings(config, resolve_defaults(data, Config())),
        "environments": all_environments(files.values()),
        "seconds": round(sum(one["seconds"] for one in found), 1),
    }


def _usual_workers(num_nodes: int, device: str, count: int) -> int:
    """Return one process per core where a training has one thread, else one."""
    return min(psutil.cpu_count() or 1, count) if is_small(num_nodes) and device == "cpu" else 1


def _command(graph: str, model: str, settings: Sequence[str]) -> str:
    parts = ["herofilter", "bench", "ogb", graph, "--model", model]
    for setting in settings:
        parts += ["--set", setting]
    return shlex.join(parts)
