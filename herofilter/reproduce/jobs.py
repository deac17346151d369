"""Jobs of a benchmark: one training each, run in processes of their own, kept in files."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil

from herofilter.callbacks import Callback, notify
from herofilter.config import Config, from_earlier
from herofilter.data import load_dataset, on_disk
from herofilter.data.datasets.registry import REGISTRY
from herofilter.errors import ConfigError, HeroFilterError, OutOfMemoryError, RunError
from herofilter.parallel.processes import run_jobs
from herofilter.parallel.threads import one_thread
from herofilter.reproduce.studies.graphs import kept_graph
from herofilter.training import prepare
from herofilter.training.artifacts.environment import environment
from herofilter.training.artifacts.result_store import DocumentStore, differing
from herofilter.training.recipe import train_split
from herofilter.training.search.space import changed_settings
from herofilter.training.split_metrics import split_metrics


class StaleFileWarning(UserWarning):
    """A file of finished jobs belongs to another configuration, or can't be read."""


@dataclass(frozen=True)
class TrainingJob:
    """One training: a column of the benchmark on one split of a graph; the seed is the config's.

    Without ``score_test`` the test labels aren't read and its metrics have nothing of them.
    """

    graph: str
    column: str
    model: str
    config: Config
    split: int
    score_test: bool = True

    @property
    def file_name(self) -> str:
        """The name of the file that keeps it, together with the other splits."""
        return f"{self.graph}-{self.column}-seed-{self.config.train.seed}.json"

    def __str__(self) -> str:
        return f"{self.column} on {self.graph}, seed {self.config.train.seed}, split {self.split}"


@dataclass(frozen=True)
class Outcome:
    """What a job gave: its metrics, or the sentence that says why there are none.

    ``lacks_memory`` tells a refusal for want of memory, which another machine may not share.
    """

    job: TrainingJob
    metrics: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    lacks_memory: bool = False


def run_job(job: TrainingJob) -> Outcome:
    """Run one training on one thread, so that its result is the same in every process."""
    with one_thread():
        try:
            prepared = prepare(kept_graph(job.graph), job.config, job.model)
            started = time.perf_counter()
            _, result = train_split(
                prepared, job.model, job.config, job.split, score_test=job.score_test
            )
        except HeroFilterError as error:
            lacks = isinstance(error, OutOfMemoryError)
            return Outcome(job, failure=str(error), lacks_memory=lacks)
        seconds = time.perf_counter() - started
    if result.interrupted:
        raise KeyboardInterrupt
    metrics = split_metrics(result, seconds)
    if not job.score_test:
        metrics = {key: value for key, value in metrics.items() if not key.startswith("test_")}
    return Outcome(job, metrics)


class JobFile(DocumentStore):
    """The finished splits of one graph, column and seed, in one JSON file.

    A file that was made with another configuration, or that can't be read, counts as absent: it
    is replaced when the first split is finished, and a warning says so.

    Args:
        folder: where the files of the benchmark are.
        job: any of the file's jobs; its split has no say.
        variant: the version of the graph's data and splits.
    """

    def __init__(self, folder: Path, job: TrainingJob, variant: str) -> None:
        super().__init__(folder / job.file_name)
        self.config = job.config
        self.header = {
            "graph": job.graph,
            "variant": variant,
            "column": job.column,
            "model": job.model,
        }
        self.environments: list[dict[str, Any]] = []
        if self.path.exists():
            self._open()

    def keep(self, split: int, metrics: dict[str, Any], workers: int) -> None:
        """Write one more finished split, with how busy the machine was while it ran."""
        here = {**environment(), "threads": 1}
        if here not in self.environments:
            self.environments.append(here)
        self.before = {**self.header, "config": self.config.to_dict()}
        self.after = {"environments": self.environments}
        self.add(str(split), {**metrics, "workers": workers, "cores": psutil.cpu_count()})

    def _open(self) -> None:
        try:
            held = self.read()
            self.environments = list(held["environments"])
            why = self._difference(held)
            problem = f"was made with another configuration ({why})" if why else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            problem = "can't be read"
        if problem:
            self.records, self.environments = {}, []
            warnings.warn(
                f"{self.path} {problem}; its jobs are run anew", StaleFileWarning, stacklevel=3
            )

    def _difference(self, held: dict[str, Any]) -> str:
        """Return what differs, in words; nothing when the file is of the same run."""
        for key in differing(self.header, {key: held[key] for key in self.header}):
            return f"{key} was {held[key]} and is {self.header[key]}"
        try:
            # settings that came later have their default
            earlier = Config.from_dict(from_earlier(held["config"]))
        except ConfigError as error:
            return str(error)
        if earlier == self.config:
            return ""
        now, before = (
            changed_settings(one, other)
            for one, other in ((self.config, earlier), (earlier, self.config))
        )
        return ", ".join(f"{key} was {before[key]} and is {now[key]}" for key in now) or "seed"


def complete(
    jobs: Sequence[TrainingJob],
    files: Sequence[JobFile],
    workers: int,
    callback: Callback | None = None,
) -> None:
    """Run the jobs that aren't in their files yet, and write each as soon as it is finished.

    One that fails doesn't stop the others; the error that names it comes at the end.
    """
    file_of = {file.path.name: file for file in files}
    pending = [job for job in jobs if str(job.split) not in file_of[job.file_name]]
    workers = min(workers, max(len(pending), 1))

    def keep(outcome: Outcome) -> None:
        file_of[outcome.job.file_name].keep(outcome.job.split, outcome.metrics, workers)

    run_pending(run_job, pending, len(jobs), workers, keep, callback)


class AnyJob(Protocol):
    """What can be run in a process: it has a graph, and says what it is."""

    @property
    def graph(self) -> str: ...


class AnyOutcome(Protocol):
    """What a job gave, or why it gave nothing."""

    @property
    def job(self) -> AnyJob: ...
    @property
    def failure(self) -> str: ...


SomeJob = TypeVar("SomeJob", bound=AnyJob)
SomeOutcome = TypeVar("SomeOutcome", bound=AnyOutcome)


def run_pending(
    function: Callable[[SomeJob], SomeOutcome],
    pending: Sequence[SomeJob],
    total: int,
    workers: int,
    keep: Callable[[SomeOutcome], None],
    callback: Callback | None = None,
    what: str = "",
) -> None:
    """Run jobs in processes and keep what each gave as soon as it is there.

    Args:
        function: runs a job.
        pending: the jobs that aren't finished yet.
        total: how many jobs there are, the finished ones included.
        workers: processes.
        keep: is given each outcome without a failure.
        callback: takes an event of stage ``job`` at the start and after each job.
        what: what a job is called in the error that tells how many failed.
    """
    fetch(job.graph for job in pending)
    notify(callback, "job", total - len(pending), total, "starting")
    failures = []
    with closing(run_jobs(function, pending, workers)) as outcomes:
        for done, outcome in enumerate(outcomes, total - len(pending) + 1):
            if outcome.failure:
                failures.append(outcome)
            else:
                keep(outcome)
            notify(callback, "job", done, total, str(outcome.job))
    if failures:
        raise RunError(
            f"every training must finish, but {len(failures)} of {total} {what}didn't "
            f"({failures[0].job}: {failures[0].failure}); finished ones are kept, so run it again"
        )


def fetch(graphs: Iterable[str]) -> None:
    """Download the datasets that aren't on disk, so that no two processes do it at once."""
    for graph in set(graphs) & set(REGISTRY):
        if not on_disk(graph):
            load_dataset(graph, split=None)
