"""Tasks that are trainings of a registered model."""

from collections.abc import Iterable

from herofilter.config import Config
from herofilter.errors import HeroFilterError, OutOfMemoryError, RunError
from herofilter.reproduce.jobs import TrainingJob, run_job
from herofilter.reproduce.studies.study import Record, Task

# short enough for the quick form, long enough that weights move
QUICK = {"epochs": 5, "hidden_channels": 8}


def training(task: Task) -> Record:
    """Train the task's model on its split and return the metrics."""
    outcome = run_job(TrainingJob(task.graph, task.variant, task.model, task.config, task.split))
    if outcome.failure:
        kind: type[HeroFilterError] = OutOfMemoryError if outcome.lacks_memory else RunError
        raise kind(outcome.failure)
    return {key: value for key, value in outcome.metrics.items() if key != "interrupted"}


def training_tasks(
    graph: str, splits: Iterable[int], variant: str, config: Config, model: str = "herofilter"
) -> list[Task]:
    """Return one training per split.

    Example:
        >>> [str(task) for task in training_tasks("karate", [0, 1], "gcn", Config(), "gcn")]
        ['gcn on karate, split 0', 'gcn on karate, split 1']
    """
    return [Task(graph, model, config, split, training, variant=variant) for split in splits]
