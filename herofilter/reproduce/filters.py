"""The filter study: does a learned spectral filter do better than a fixed one?

Every variant is the same model on the same splits; only what its name says is different. Graphs
are taken without directions, so that all variants see the same edges.
"""

import shlex
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.errors import HeroFilterError, RunError
from herofilter.nn import HeroFilter
from herofilter.parallel.threads import one_thread
from herofilter.patchers import PolynomialPatcher, SpectralPatcher
from herofilter.reproduce.checks import check_names, check_workers
from herofilter.reproduce.filter_graphs import GRAPHS as GRAPHS, graph_variant, load_graph
from herofilter.reproduce.filter_variants import BASE, VARIANTS as VARIANTS, variant_config
from herofilter.reproduce.jobs import JobFile, TrainingJob, run_pending
from herofilter.reproduce.published import Published, all_environments
from herofilter.training import prepare
from herofilter.training.recipe import train_split
from herofilter.training.split_metrics import split_metrics, spread

PUBLISHED = Published("herofilter bench filters", "filters.json", "filters.md")
MODEL = "herofilter"
MEASURES = ("val_accuracy", "test_accuracy", "patch_homophily", "movement")


# these take longest, so they start first
_LARGE = ("pubmed", "squirrel", "actor", "citeseer", "chameleon", "cora")


@dataclass(frozen=True)
class Job:
    """One variant on some splits of one graph."""

    graph: str
    variant: str
    config: Config
    splits: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.variant} on {self.graph}"


@dataclass(frozen=True)
class Outcome:
    """What a job gave: the metrics of each split, or the sentence that says why there are none."""

    job: Job
    splits: dict[int, dict[str, Any]] = field(default_factory=dict)
    failure: str = ""


def run_job(job: Job) -> Outcome:
    """Train a variant on its splits, on one thread, so that the result is always the same."""
    with one_thread():
        try:
            prepared = prepare(load_graph(job.graph), job.config, MODEL)
            return Outcome(job, {split: _metrics(prepared, job, split) for split in job.splits})
        except HeroFilterError as error:
            return Outcome(job, failure=str(error))


@torch.no_grad()
def movement(model: HeroFilter) -> float:
    r"""Return how far the filters have moved from their start; 0 for patches that are fixed.

    That is the mean of :math:`|g - g_0|` over the graph's eigenvalues (beyond 4000 nodes over
    [-1, 1]), relative to the largest :math:`|g_0|`, averaged over the filters.
    """
    patcher = model.patcher
    if not isinstance(patcher, (PolynomialPatcher, SpectralPatcher)):
        return 0.0
    points = patcher.eigenvalues
    if not points.numel():
        # those of a large graph aren't known
        points = torch.linspace(-1, 1, 201)
    moved = []
    for kind, weights in zip(patcher.filters, patcher.weights, strict=True):
        now = kind.response(points, weights)
        start = kind.response(points, kind.initial_weights(points))
        moved.append(float((now - start).abs().mean() / start.abs().max().clamp(min=1e-12)))
    return statistics.fmean(moved)


def run_filters(
    graphs: Sequence[str] = tuple(GRAPHS),
    variants: Sequence[str] = tuple(VARIANTS),
    out: str | Path = "runs/bench-filters",
    workers: int = 1,
    callback: Callback | None = None,
) -> dict[str, Any]:
    """Train every variant on every graph and return the summary.

    Each variant on each graph is kept in one file of ``out`` once it is finished, and the same
    call continues; a file that was made with other settings is replaced.

    Args:
        graphs: keys of ``GRAPHS``.
        variants: keys of ``VARIANTS``.
        out: the folder of finished trainings.
        workers: processes of one thread each; the accuracies don't depend on their number.
        callback: takes an event of stage ``job`` after every variant on every graph.

    Returns:
        ``command``, ``variants`` (``title``, ``asks``, ``settings`` and ``config``), ``workers``
        and ``cores`` with which the seconds were measured, ``environments``, and per graph its
        ``variant``, ``why``, ``splits`` and, per variant, ``seconds`` per split and the measures
        ``val_accuracy``, ``test_accuracy``, ``patch_homophily`` and ``movement``, each with
        ``mean``, ``std`` and ``values`` over splits.
    """
    command = _check(graphs, variants, workers)
    files = {
        (graph, variant): _file(Path(out), graph, variant)
        for variant in variants
        for graph in sorted(graphs, key=lambda graph: graph not in _LARGE)
    }
    _complete(files, workers, callback)
    kept = [entry for file in files.values() for entry in file.records.values()]
    return {
        "command": command,
        "base": list(BASE),
        "variants": {
            variant: {
                **VARIANTS[variant]._asdict(),
                "settings": list(VARIANTS[variant].settings),
                "config": variant_config(variant).to_dict(),
            }
            for variant in variants
        },
        "workers": sorted({entry["workers"] for entry in kept}),
        "cores": sorted({entry["cores"] for entry in kept}),
        "environments": all_environments(files.values()),
        "graphs": {
            graph: {
                "variant": graph_variant(graph),
                "why": GRAPHS[graph].why,
                "splits": list(GRAPHS[graph].splits),
                "variants": {
                    variant: _summarise(files[graph, variant], GRAPHS[graph].splits)
                    for variant in variants
                },
            }
            for graph in graphs
        },
    }


def _metrics(prepared: Data, job: Job, split: int) -> dict[str, Any]:
    started = time.perf_counter()
    model, result = train_split(prepared, MODEL, job.config, split)
    seconds = time.perf_counter() - started
    if result.interrupted:
        raise KeyboardInterrupt
    if not isinstance(model, HeroFilter):
        raise RunError(f"the model must be a HeroFilter (got {type(model).__name__})")
    homophily = 0.0
    if job.config.patcher.patch_size > 1:
        with torch.no_grad():
            homophily = model.patches().homophily(prepared.y)
    return {
        **split_metrics(result, seconds),
        "patch_homophily": homophily,
        "movement": movement(model),
    }


def _complete(
    files: dict[tuple[str, str], JobFile], workers: int, callback: Callback | None
) -> None:
    """Run what isn't in its file yet, and write each file as soon as its job is finished."""
    jobs = []
    for (graph, variant), file in files.items():
        missing = tuple(int(split) for split in file.missing(map(str, GRAPHS[graph].splits)))
        if missing:
            jobs.append(Job(graph, variant, file.config, missing))
    workers = min(workers, max(len(jobs), 1))

    def keep(outcome: Outcome) -> None:
        for split, metrics in outcome.splits.items():
            files[outcome.job.graph, outcome.job.variant].keep(split, metrics, workers)

    run_pending(run_job, jobs, len(files), workers, keep, callback, what="variants ")


def _file(folder: Path, graph: str, variant: str) -> JobFile:
    job = TrainingJob(graph, variant, MODEL, variant_config(variant), GRAPHS[graph].splits[0])
    return JobFile(folder, job, graph_variant(graph))


def _summarise(file: JobFile, splits: Sequence[int]) -> dict[str, Any]:
    runs = [file.records[str(split)] for split in splits]
    return {
        "seconds": statistics.fmean(run["seconds"] for run in runs),
        **{measure: spread([run[measure] for run in runs]) for measure in MEASURES},
    }


def _check(graphs: Sequence[str], variants: Sequence[str], workers: int) -> str:
    """Check the options and return the command that asks for them."""
    parts = shlex.split(PUBLISHED.command)
    asked = (("graphs", graphs, tuple(GRAPHS)), ("variants", variants, tuple(VARIANTS)))
    for name, entries, known in asked:
        check_names(name, entries, known, f"a {name.removesuffix('s')}")
        if tuple(entries) != known:
            parts += [f"--{name}", ",".join(entries)]
    check_workers(workers)
    return shlex.join(parts)
