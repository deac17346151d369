"""The filter study: does a learned spectral filter earn its place over a fixed one?

Every variant is the same model on the same splits; only what its name says is different. Graphs
are taken without directions, so that all variants see the same edges.
"""

import shlex
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, load_dataset, on_disk, random_splits
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import ConfigError, HeroFilterError, RunError, check_choice
from herofilter.nn import HeroFilter
from herofilter.parallel.processes import run_jobs
from herofilter.parallel.threads import one_thread
from herofilter.patchers import SpectralPatcher
from herofilter.reproduce.jobs import JobFile, OnStep, TrainingJob
from herofilter.training import prepare
from herofilter.training.protocol import split_metrics, spread, train_split

WHOLE = "herofilter bench filters"
MODEL = "herofilter"
BASE = ("patcher=spectral", "directed=symmetrise", "self_loops=true", "patch_size=9")
NUM_NODES = 600
NUM_CLASSES = 4
NUM_SPLITS = 3
MIXED_LEVELS = (0.1, 0.9)
MIXED_SIGNAL = 1.0
MIXED_ACROSS = 0.03
MEASURES = ("val_accuracy", "test_accuracy", "patch_homophily", "movement")


class Variant(NamedTuple):
    """One row of the study: its title, what it sets beyond ``BASE``, and what it asks."""

    title: str
    settings: tuple[str, ...]
    asks: str


VARIANTS = {
    "ppr": Variant(
        "Personalised PageRank",
        ("patcher=fast", "relations=out"),
        "Do patches of a fixed filter from the literature do as well? It isn't quite a twin: one "
        "set of slots and one summary where the reference has two of each.",
    ),
    "fixed": Variant(
        "Fixed filters", ("learn_filter=false",), "The reference's twin: are its starts enough?"
    ),
    "learned": Variant("Learned filters", (), "The reference that the others are held against."),
    "learned-lr-1e-2": Variant(
        "Learned ten times faster", ("filter_lr=0.01",), "Does the filter move too slowly?"
    ),
    "shared": Variant(
        "One weight per power", ("filter=shared",), "Is a weight per eigenvalue too many?"
    ),
    "signed": Variant(
        "Both ends of the scores", ("selection=signed",), "Do the most negative scores help?"
    ),
    "one-filter": Variant("One filter", ("filter_starts=low",), "Is the second filter needed?"),
    "three-filters": Variant(
        "Three filters", ("filter_starts=low,hop2,high",), "Does a high-pass filter add anything?"
    ),
    "frozen": Variant(
        "Choice frozen",
        ("freeze_after=50",),
        "Does it help to leave the members alone after epoch 50, while scores still learn?",
    ),
    "straight-through": Variant(
        "Straight-through scores",
        ("score_norm=straight_through",),
        "Should scores only carry gradients, and not scale the tokens?",
    ),
    "no-summary-fixed": Variant(
        "Fixed, no summary",
        ("summary=false", "learn_filter=false"),
        "The twin of the next: fixed filters that act through the patch alone.",
    ),
    "no-summary-learned": Variant(
        "Learned, no summary",
        ("summary=false",),
        "Does learning matter more where the filter acts through the patch alone?",
    ),
    "small-patch-fixed": Variant(
        "Fixed, three tokens",
        ("patch_size=3", "learn_filter=false"),
        "The twin of the next: two members to choose, one per filter.",
    ),
    "small-patch-learned": Variant(
        "Learned, three tokens",
        ("patch_size=3",),
        "Does learning matter more where there is little room?",
    ),
}


class StudyGraph(NamedTuple):
    """A graph of the study: its splits and why it is here."""

    splits: tuple[int, ...]
    why: str


_THREE = tuple(range(NUM_SPLITS))
GRAPHS = {
    "texas": StudyGraph(tuple(range(10)), "small and heterophilic"),
    "chameleon": StudyGraph((0, 1), "heterophilic, of high degree"),
    "cora": StudyGraph((0, 1), "homophilic"),
    "dense": StudyGraph(_THREE, "a small patch must choose among many unlike neighbours"),
    "noisy": StudyGraph(_THREE, "homophilic, with features that say little"),
    "mixed": StudyGraph(
        _THREE, "half homophilic and half heterophilic, so that no one filter suits all nodes"
    ),
}
SYNTHETIC: dict[str, dict[str, float]] = {
    "dense": {"heterophily": 0.9, "average_degree": 30.0, "feature_signal": 2.0},
    "noisy": {"heterophily": 0.2, "average_degree": 10.0, "feature_signal": 0.5},
}
# these take longest, so they start first
_LARGE = ("chameleon", "cora")


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


def variant_config(variant: str) -> Config:
    """Return a variant's settings.

    Example:
        >>> variant_config("small-patch-fixed").patcher.patch_size
        3
    """
    return Config().with_settings([*BASE, *VARIANTS[variant].settings])


def load_graph(name: str) -> Data:
    """Return a graph of the study, real or made, with the masks of all its splits."""
    if name == "mixed":
        return mixed_graph(0)
    if name not in SYNTHETIC:
        return load_dataset(name, split=None)
    values = SYNTHETIC[name]
    data = csbm(
        num_nodes=NUM_NODES,
        num_classes=NUM_CLASSES,
        compatibility="cyclic",
        heterophily=values["heterophily"],
        average_degree=values["average_degree"],
        feature_signal=values["feature_signal"],
        seed=0,
        num_splits=NUM_SPLITS,
    )
    data.name, data.variant = name, graph_variant(name)
    return data


def graph_variant(name: str) -> str:
    """Return in words which version of a graph the study uses."""
    made = f"synthetic, {NUM_NODES} nodes, {NUM_CLASSES} classes on a ring"
    if name == "mixed":
        levels = " and ".join(f"{level:g}" for level in MIXED_LEVELS)
        return (
            f"{made}, regions of heterophily {levels} of equal size, {MIXED_ACROSS:.0%} of edges "
            f"across, average degree 10 within, feature signal {MIXED_SIGNAL:g}, random 48/32/20"
        )
    if name not in SYNTHETIC:
        return REGISTRY[name].variant
    values = ", ".join(
        f"{key.replace('_', ' ')} {value:g}" for key, value in SYNTHETIC[name].items()
    )
    return f"{made}, {values}, random 48/32/20"


def mixed_graph(
    seed: int, num_nodes: int = NUM_NODES, num_splits: int = NUM_SPLITS, num_features: int = 32
) -> Data:
    """Return a graph of two regions, the first homophilic, the second heterophilic.

    Both have the same classes, on a ring, with the same means of features, so the features don't
    tell the regions apart. A few edges join nodes of one region with any of the other. Splits
    share out each class of each region on its own.

    Example:
        >>> mixed_graph(0, num_nodes=120).train_mask.shape
        torch.Size([120, 3])
    """
    half = num_nodes // 2
    regions = [
        csbm(half, NUM_CLASSES, level, compatibility="cyclic", num_features=0, seed=2 * seed + side)
        for side, level in enumerate(MIXED_LEVELS)
    ]
    rng = np.random.default_rng(seed)
    inside = [region.edge_index + side * half for side, region in enumerate(regions)]
    links = sum(edges.size(1) for edges in inside) // 2
    count = round(links * MIXED_ACROSS / (1 - MIXED_ACROSS))
    # without replacement: no edge twice
    pair = torch.from_numpy(rng.choice(half * half, size=count, replace=False))
    across = torch.stack([pair // half, pair % half + half])
    y = torch.cat([region.y for region in regions])
    # four orthogonal means of length one, as in csbm
    means = np.linalg.qr(rng.standard_normal((num_features, NUM_CLASSES)))[0].T
    x = MIXED_SIGNAL * means[y.numpy()] + rng.standard_normal((2 * half, num_features))
    data = Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.cat([*inside, across, across.flip(0)], dim=1),
        y=y,
        num_nodes=2 * half,
    )
    group = y + NUM_CLASSES * (torch.arange(2 * half) >= half)
    data.train_mask, data.val_mask, data.test_mask = random_splits(group, num_splits, seed=seed)
    data.name, data.variant = "mixed", graph_variant("mixed")
    return data


def run_job(job: Job) -> Outcome:
    """Train a variant on its splits, on one thread, so that the numbers are always the same."""
    with one_thread():
        try:
            prepared = prepare(load_graph(job.graph), job.config, MODEL)
            return Outcome(job, {split: _metrics(prepared, job, split) for split in job.splits})
        except HeroFilterError as error:
            return Outcome(job, failure=str(error))


@torch.no_grad()
def movement(model: HeroFilter) -> float:
    r"""Return how far the filters have moved from their start; 0 for patches that are fixed.

    That is the mean of :math:`|g - g_0|` over the graph's eigenvalues, relative to the largest
    :math:`|g_0|`, averaged over the filters.
    """
    patcher = model.patcher
    if not isinstance(patcher, SpectralPatcher):
        return 0.0
    moved = []
    for kind, now in zip(patcher.filters, patcher.responses(), strict=True):
        start = kind.response(patcher.eigenvalues, kind.initial_weights(patcher.eigenvalues))
        moved.append(float((now - start).abs().mean() / start.abs().max().clamp(min=1e-12)))
    return statistics.fmean(moved)


def run_filters(
    graphs: Sequence[str] = tuple(GRAPHS),
    variants: Sequence[str] = tuple(VARIANTS),
    out: str | Path = "runs/bench-filters",
    workers: int = 1,
    on_step: OnStep | None = None,
) -> dict[str, Any]:
    """Train every variant on every graph and return the summary.

    Each variant on each graph is kept in one file of ``out`` once it is finished, and the same
    call continues; a file that was made with other settings is made anew.

    Args:
        graphs: keys of ``GRAPHS``.
        variants: keys of ``VARIANTS``.
        out: the folder of finished trainings.
        workers: processes of one thread each; the accuracies don't depend on their number.
        on_step: called with files done, files in all, and what was done last.

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
    _complete(files, workers, on_step)
    kept = [entry for file in files.values() for entry in file.splits.values()]
    environments: list[dict[str, Any]] = []
    for file in files.values():
        environments += [entry for entry in file.environments if entry not in environments]
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
        "environments": environments,
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


def places(
    command: str, out: Path, results: Path | None = None, page: Path | None = None
) -> tuple[Path, Path]:
    """Return where the summary and its page go: where the user says, or where they belong.

    In a checkout the whole study replaces the published one; a part of it never does.
    """
    if results is not None:
        return results, page or results.with_suffix(".md")
    if command == WHOLE and Path("herofilter/reproduce/filters.py").is_file():
        return Path("results/filters.json"), page or Path("docs/filters.md")
    return out / "filters.json", page or out / "filters.md"


def _metrics(prepared: Data, job: Job, split: int) -> dict[str, Any]:
    started = time.perf_counter()
    model, result = train_split(prepared, MODEL, job.config, split)
    seconds = time.perf_counter() - started
    if result.interrupted:
        raise KeyboardInterrupt
    if not isinstance(model, HeroFilter):
        raise RunError(f"the model must be a HeroFilter (got {type(model).__name__})")
    with torch.no_grad():
        homophily = model.patches().homophily(prepared.y)
    return {
        **split_metrics(result, seconds),
        "patch_homophily": homophily,
        "movement": movement(model),
    }


def _complete(files: dict[tuple[str, str], JobFile], workers: int, on_step: OnStep | None) -> None:
    """Run what isn't in its file yet, and write each file as soon as its job is finished."""
    jobs = []
    for (graph, variant), file in files.items():
        missing = tuple(s for s in GRAPHS[graph].splits if str(s) not in file.splits)
        if missing:
            jobs.append(Job(graph, variant, file.config, missing))
    for graph in {job.graph for job in jobs} & set(REGISTRY):
        if not on_disk(graph):
            # here and now, so that no two workers download it at the same time
            load_dataset(graph, split=None)
    workers = min(workers, max(len(jobs), 1))
    done = len(files) - len(jobs)
    if on_step is not None:
        on_step(done, len(files), "starting")
    failures = []
    with closing(run_jobs(run_job, jobs, workers)) as outcomes:
        for outcome in outcomes:
            done += 1
            job = outcome.job
            if outcome.failure:
                failures.append(outcome)
            for split, metrics in outcome.splits.items():
                files[job.graph, job.variant].add(split, metrics, workers)
            if on_step is not None:
                on_step(done, len(files), str(job))
    if failures:
        raise RunError(
            f"every training must finish, but {len(failures)} of {len(files)} variants didn't "
            f"({failures[0].job}: {failures[0].failure}); finished ones are kept, so run it again"
        )


def _file(folder: Path, graph: str, variant: str) -> JobFile:
    unit = TrainingJob(graph, variant, MODEL, variant_config(variant), GRAPHS[graph].splits[0])
    return JobFile(folder, unit, graph_variant(graph))


def _summarise(file: JobFile, splits: Sequence[int]) -> dict[str, Any]:
    runs = [file.splits[str(split)] for split in splits]
    return {
        "seconds": statistics.fmean(run["seconds"] for run in runs),
        **{measure: spread([run[measure] for run in runs]) for measure in MEASURES},
    }


def _check(graphs: Sequence[str], variants: Sequence[str], workers: int) -> str:
    """Return the command that asks for these, once they are known to be sound."""
    parts = shlex.split(WHOLE)
    asked = (("graphs", graphs, tuple(GRAPHS)), ("variants", variants, tuple(VARIANTS)))
    for name, entries, known in asked:
        for entry in entries:
            check_choice(f"a {name.removesuffix('s')}", entry, known)
        if not entries or len(set(entries)) < len(entries):
            got = ",".join(entries) or "none"
            raise ConfigError(f"{name} must name at least one and none twice (got {got})")
        if tuple(entries) != known:
            parts += [f"--{name}", ",".join(entries)]
    if workers < 1:
        raise ConfigError(f"workers must be at least 1 (got {workers})")
    return shlex.join(parts)
