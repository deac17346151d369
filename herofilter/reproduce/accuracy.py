"""The accuracy benchmark: nine graphs of the paper, two baselines, HeroFilter as given and tuned.

The paper's numbers are those of the row "HeroFilter (Ours)" in its Table 1 (homophilic graphs) and
Table 2 (heterophilic graphs). Neither table has a row for Fast-HeroFilter.
"""

import math
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from herofilter.callbacks import Callback
from herofilter.config import Config
from herofilter.data import load_dataset
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import check_choice
from herofilter.nn.build import resolve
from herofilter.nn.naming import model_title
from herofilter.reproduce.checks import check_names, check_splits, check_workers
from herofilter.reproduce.jobs import JobFile, TrainingJob, complete
from herofilter.reproduce.paper_tables import paper_cell
from herofilter.reproduce.published import Published, all_environments
from herofilter.training.search.presets import list_presets, preset_run
from herofilter.training.search.space import changed_settings
from herofilter.training.split_metrics import spread

GRAPHS = (
    "texas",
    "wisconsin",
    "cornell",
    "chameleon",
    "squirrel",
    "actor",
    "cora",
    "citeseer",
    "pubmed",
)
# mean and standard deviation in percent, as printed
PAPER = {graph: paper_cell("herofilter", graph) for graph in GRAPHS}
# a test set of these has some forty nodes: one seed says little
THREE_SEEDS = ("texas", "wisconsin", "cornell")
PUBLISHED = Published("herofilter bench herofilter", "accuracy.json", "results.md")


@dataclass(frozen=True)
class Column:
    """One column of the benchmark: a model as it comes, or a preset of each graph."""

    title: str
    preset: str = "default"
    model: str | None = None


COLUMNS = {
    "mlp": Column("MLP", model="mlp"),
    "gcn": Column("GCN", model="gcn"),
    "default": Column("default", model="herofilter"),
    "tuned-undirected": Column("undirected, tuned", "tuned-undirected"),
    "tuned-fast": Column("fixed patches, undirected, tuned", "tuned-fast"),
    "tuned-directed": Column("directed, tuned", "tuned-directed"),
}


def seeds_of(graph: str) -> tuple[int, ...]:
    """Return the seeds that a graph is trained with: three on the WebKB graphs, else one."""
    return (0, 1, 2) if graph in THREE_SEEDS else (0,)


def column_run(graph: str, column: str) -> tuple[str, Config] | None:
    """Return a column's model and configuration on a graph; None where it lacks the preset.

    Example:
        >>> column_run("karate", "mlp") == ("mlp", Config()), column_run("karate", "tuned-fast")
        (True, None)
    """
    entry = COLUMNS[column]
    if entry.preset != "default" and entry.preset not in list_presets(graph):
        return None
    return preset_run(graph, entry.preset, entry.model)


def num_common_splits(graphs: Sequence[str]) -> int:
    """Return how many numbered splits each of the graphs has at least."""
    for graph in graphs:
        check_choice("a graph", graph, REGISTRY)
    return min((REGISTRY[graph].num_splits for graph in graphs), default=0)


def run_accuracy(
    graphs: Sequence[str] = GRAPHS,
    columns: Sequence[str] = tuple(COLUMNS),
    splits: Sequence[int] | None = None,
    out: str | Path = "runs/bench-herofilter",
    workers: int = 1,
    callback: Callback | None = None,
    finished: bool = False,
) -> dict[str, Any]:
    """Train every column on every graph and return the summary.

    Every training is kept in ``out`` once it is finished, and the same call continues. Each uses
    one thread, so the accuracies don't depend on the number of workers; the seconds do.

    Args:
        graphs: names of datasets; the nine of the paper by default.
        columns: keys of ``COLUMNS``.
        splits: numbers of splits; all by default.
        out: the folder of finished trainings.
        workers: processes.
        callback: takes an event of stage ``job`` after every training, named after it.
        finished: train nothing, and sum up what is finished: a column may then have fewer
            splits than the others, and ``done`` says which.

    Returns:
        ``command``, ``splits``, ``columns`` (titles), ``workers`` and ``cores`` with which the
        seconds were measured, ``environments``, and per graph its ``seeds``, the ``paper``'s
        accuracy and per column None or what :func:`summarise` gives.
    """
    chosen, command = _check(graphs, columns, splits, workers)
    files: dict[tuple[str, str], list[JobFile]] = {}
    jobs: list[TrainingJob] = []
    # split by split and graph by graph: two workers seldom need the same eigenvectors at first,
    # and the small graphs come last, so that no worker is left alone with a large one
    for split in chosen:
        for column in reversed(columns):
            for graph in sorted(graphs, key=_position, reverse=True):
                jobs += _jobs(graph, column, split)
    for job in jobs:
        if job.split == chosen[0]:
            kept = JobFile(Path(out), job, REGISTRY[job.graph].variant)
            files.setdefault((job.graph, job.column), []).append(kept)
    every = [file for group in files.values() for file in group]
    if not finished:
        complete(jobs, every, workers, callback)
    return {
        "command": command,
        "splits": list(chosen),
        "columns": {column: COLUMNS[column].title for column in columns},
        "workers": _distinct(every, chosen, "workers"),
        "cores": _distinct(every, chosen, "cores"),
        "environments": all_environments(every),
        "graphs": {
            graph: {
                "variant": REGISTRY[graph].variant,
                "seeds": list(seeds_of(graph)),
                "paper": _paper(graph),
                "columns": {
                    column: summarise(files[graph, column], chosen, COLUMNS[column].preset)
                    if (graph, column) in files
                    else None
                    for column in columns
                },
            }
            for graph in graphs
        },
    }


def summarise(
    files: Sequence[JobFile], splits: Sequence[int], preset: str
) -> dict[str, Any] | None:
    """Return what one column reached on one graph, from one file per seed; None for nothing.

    ``title`` is what the model is with the settings that the column has there;
    ``test_accuracy`` and ``val_accuracy`` have ``mean``, ``std`` and ``values`` over all seeds and
    splits, seed by seed; ``interval`` is that of :func:`mean_interval`; ``seconds`` is the mean
    per split, patches and training together.
    """
    done = [split for split in splits if all(str(split) in file for file in files)]
    if not done:
        return None
    runs = [[file.records[str(split)] for split in done] for file in files]
    every = [run for row in runs for run in row]
    by_split = [
        statistics.fmean(run["test_accuracy"] for run in column)
        for column in zip(*runs, strict=True)
    ]
    header, config = files[0].header, files[0].config
    settings = config.to_dict()
    del settings["train"]["seed"]
    resolved = resolve(load_dataset(header["graph"], split=None), config)
    return {
        "model": header["model"],
        "title": model_title(header["model"], resolved),
        "preset": preset,
        "changed": changed_settings(config),
        "done": done,
        "count": len(every),
        "test_accuracy": spread([run["test_accuracy"] for run in every]),
        "interval": mean_interval(by_split),
        "val_accuracy": spread([run["val_accuracy"] for run in every]),
        "seconds": statistics.fmean(run["seconds"] for run in every),
        "config": settings,
    }


def mean_interval(values: Sequence[float], level: float = 0.95) -> list[float] | None:
    r"""Return the t-interval of a mean, :math:`\bar{x} \pm t_{k-1} s / \sqrt{k}`.

    Args:
        values: one per split; those of several seeds are averaged first, since the seeds of a
            split share its nodes and so aren't independent.
        level: how often such an interval holds the mean.

    Returns:
        Both ends; None for fewer than two values.

    Example:
        >>> [round(end, 3) for end in mean_interval([0.7, 0.8, 0.9])]
        [0.552, 1.048]
    """
    from scipy.stats import t

    if len(values) < 2:
        return None
    factor = float(t.ppf((1 + level) / 2, len(values) - 1))
    half = factor * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return [mean - half, mean + half]


def _check(
    graphs: Sequence[str], columns: Sequence[str], splits: Sequence[int] | None, workers: int
) -> tuple[list[int], str]:
    check_names("graphs", graphs, REGISTRY, "a graph")
    check_names("columns", columns, COLUMNS, "a column")
    check_workers(workers)
    available = num_common_splits(graphs)
    chosen = list(range(available)) if splits is None else sorted(set(splits))
    check_splits(chosen, available)
    parts = shlex.split(PUBLISHED.command)
    if tuple(graphs) != GRAPHS:
        parts += ["--graphs", ",".join(graphs)]
    if tuple(columns) != tuple(COLUMNS):
        parts += ["--columns", ",".join(columns)]
    if len(chosen) < available:
        parts += ["--splits", ",".join(map(str, chosen))]
    return chosen, shlex.join(parts)


def _position(graph: str) -> int:
    return GRAPHS.index(graph) if graph in GRAPHS else -1


def _jobs(graph: str, column: str, split: int) -> list[TrainingJob]:
    run = column_run(graph, column)
    if run is None:
        return []
    model, config = run
    return [
        TrainingJob(graph, column, model, config.replace(seed=seed), split)
        for seed in seeds_of(graph)
    ]


def _paper(graph: str) -> dict[str, float] | None:
    cell = PAPER.get(graph)
    if cell is None:
        return None
    mean, std = cell
    return {"mean": round(mean / 100, 4), "std": round(std / 100, 4)}


def _distinct(files: Sequence[JobFile], splits: Sequence[int], key: str) -> list[int]:
    names = [str(split) for split in splits]
    return sorted({file.records[name][key] for file in files for name in names if name in file})
