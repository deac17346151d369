"""Tasks that are trainings of a registered model."""

import time
from collections.abc import Callable, Iterable

from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import select_split
from herofilter.errors import HeroFilterError, OutOfMemoryError, RunError
from herofilter.nn import NodeClassifier, find_model
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.reproduce.jobs import TrainingJob, run_job
from herofilter.reproduce.studies.graphs import dataset_of
from herofilter.reproduce.studies.study import FINAL, Record, Task
from herofilter.training import prepare, train
from herofilter.training.seeding import seeded
from herofilter.training.split_metrics import split_metrics

# short enough for the quick form, long enough that weights move
QUICK = {"epochs": 5, "hidden_channels": 8}


def training(task: Task) -> Record:
    """Train the task's model on its split and return the metrics."""
    outcome = run_job(TrainingJob(task.graph, task.variant, task.model, task.config, task.split))
    if outcome.failure:
        kind: type[HeroFilterError] = OutOfMemoryError if outcome.lacks_memory else RunError
        raise kind(outcome.failure)
    return {key: value for key, value in outcome.metrics.items() if key != "interrupted"}


def training_of(
    task: Task, data: Data, change: Callable[[NodeClassifier, Data], NodeClassifier] | None = None
) -> Record:
    """Train the task's model on another graph, or a changed model, and return the metrics.

    Args:
        task: the model, its settings and the split.
        data: the graph, with masks of all splits.
        change: is given the new model and the prepared graph, and returns what is trained.
    """
    started = time.perf_counter()
    prepared = prepare(data, task.config, task.model)
    config = resolve_defaults(prepared, task.config)
    with seeded(config.train.seed):
        network = find_model(task.model).build(prepared, config)
        if change is not None:
            network = change(network, prepared)
    result = train(network, select_split(prepared, task.split), config.train)
    if result.interrupted:
        raise KeyboardInterrupt
    metrics = split_metrics(result, time.perf_counter() - started)
    return {key: value for key, value in metrics.items() if key != "interrupted"}


def training_tasks(
    graph: str,
    splits: Iterable[int],
    variant: str,
    config: Config,
    model: str = "herofilter",
    work: Callable[[Task], Record] = training,
    stage: str = FINAL,
) -> list[Task]:
    """Return one training per split; a graph with a single, named split is repeated by seed.

    Example:
        >>> [str(task) for task in training_tasks("karate", [0, 1], "gcn", Config(), "gcn")]
        ['gcn on karate, split 0', 'gcn on karate, split 1']
        >>> [task.split for task in training_tasks("cora:public", [0, 1], "gcn", Config(), "gcn")]
        [0, 0]
    """
    if ":" in graph and dataset_of(graph) is not None:
        seeds = [config.replace(seed=seed) for seed in splits]
        return [
            Task(graph, model, seeded_config, 0, work, stage, variant) for seeded_config in seeds
        ]
    return [Task(graph, model, config, split, work, stage, variant) for split in splits]
