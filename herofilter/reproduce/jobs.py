"""Units of a benchmark: one training each, run in processes of their own, kept in files."""

import json
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import load_dataset, on_disk
from herofilter.errors import ConfigError, HeroFilterError, OutOfMemoryError, RunError
from herofilter.files import write_json
from herofilter.parallel.processes import run_jobs
from herofilter.parallel.threads import one_thread
from herofilter.training import prepare
from herofilter.training.artifacts.environment import environment
from herofilter.training.protocol import split_metrics, train_split
from herofilter.training.search.space import changed_settings

OnStep = Callable[[int, int, str], None]


class StaleFileWarning(UserWarning):
    """A file of finished units belongs to another configuration, or can't be read."""


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
    """What a unit gave: its metrics, or the sentence that says why there are none.

    ``lacks_memory`` tells a refusal for want of memory, which another machine may not share.
    """

    unit: TrainingJob
    metrics: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    lacks_memory: bool = False


def run_job(unit: TrainingJob) -> Outcome:
    """Train one unit on one thread, wherever it runs, so that the numbers are always the same."""
    with one_thread():
        try:
            prepared = prepare(_graph(unit.graph), unit.config, unit.model)
            started = time.perf_counter()
            _, result = train_split(
                prepared, unit.model, unit.config, unit.split, score_test=unit.score_test
            )
        except HeroFilterError as error:
            lacks = isinstance(error, OutOfMemoryError)
            return Outcome(unit, failure=str(error), lacks_memory=lacks)
        seconds = time.perf_counter() - started
    if result.interrupted:
        raise KeyboardInterrupt
    metrics = split_metrics(result, seconds)
    if not unit.score_test:
        metrics = {key: value for key, value in metrics.items() if not key.startswith("test_")}
    return Outcome(unit, metrics)


class JobFile:
    """The finished splits of one graph, column and seed, in one JSON file.

    A file that was made with another configuration, or that can't be read, counts as absent: it
    is replaced when the first split is finished, and a warning says so.

    Args:
        folder: where the files of the benchmark are.
        unit: any of the file's units; its split has no say.
        variant: the version of the graph's data and splits.
    """

    def __init__(self, folder: Path, unit: TrainingJob, variant: str) -> None:
        self.path = folder / unit.file_name
        self.config = unit.config
        self.header = {
            "graph": unit.graph,
            "variant": variant,
            "column": unit.column,
            "model": unit.model,
        }
        self.splits: dict[str, dict[str, Any]] = {}
        self.environments: list[dict[str, Any]] = []
        if self.path.exists():
            self._open()

    def add(self, split: int, metrics: dict[str, Any], workers: int) -> None:
        """Write one more finished split, with how busy the machine was while it ran."""
        cores = psutil.cpu_count()
        self.splits[str(split)] = {**metrics, "workers": workers, "cores": cores}
        here = {**environment(), "threads": 1}
        if here not in self.environments:
            self.environments.append(here)
        content = {
            **self.header,
            "config": self.config.to_dict(),
            "splits": self.splits,
            "environments": self.environments,
        }
        write_json(self.path, content)

    def _open(self) -> None:
        try:
            held = json.loads(self.path.read_text(encoding="utf-8"))
            splits, environments = dict(held["splits"]), list(held["environments"])
            why = self._difference(held)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._warn("can't be read")
            return
        if why:
            self._warn(f"was made with another configuration ({why})")
        else:
            self.splits, self.environments = splits, environments

    def _difference(self, held: dict[str, Any]) -> str:
        """Return what differs, in words; nothing when the file is of the same run."""
        for key, value in self.header.items():
            if held[key] != value:
                return f"{key} was {held[key]} and is {value}"
        try:
            # settings that came later have their default
            earlier = Config.from_dict(held["config"])
        except ConfigError as error:
            return str(error)
        if earlier == self.config:
            return ""
        now, before = (
            changed_settings(one, other)
            for one, other in ((self.config, earlier), (earlier, self.config))
        )
        return ", ".join(f"{key} was {before[key]} and is {now[key]}" for key in now) or "seed"

    def _warn(self, what: str) -> None:
        warnings.warn(f"{self.path} {what}; its units are run anew", StaleFileWarning, stacklevel=4)


def complete(
    units: Sequence[TrainingJob],
    files: Sequence[JobFile],
    workers: int,
    on_step: OnStep | None = None,
) -> None:
    """Run the units that aren't in their files yet, and write each as soon as it is finished.

    One that fails doesn't stop the others; the error that names it comes at the end.
    """
    place = {file.path.name: file for file in files}
    pending = [unit for unit in units if str(unit.split) not in place[unit.file_name].splits]
    for graph in {unit.graph for unit in pending}:
        if not on_disk(graph):
            # here and now, so that no two workers download it at the same time
            load_dataset(graph, split=None)
    workers = min(workers, max(len(pending), 1))
    done = len(units) - len(pending)
    if on_step is not None:
        on_step(done, len(units), "starting")
    failures = []
    with closing(run_jobs(run_job, pending, workers)) as outcomes:
        for outcome in outcomes:
            done += 1
            unit = outcome.unit
            if outcome.failure:
                failures.append(outcome)
            else:
                place[unit.file_name].add(unit.split, outcome.metrics, workers)
            if on_step is not None:
                on_step(done, len(units), str(unit))
    if failures:
        raise RunError(
            f"every training must finish, but {len(failures)} of {len(units)} didn't "
            f"({failures[0].unit}: {failures[0].failure}); finished ones are kept, so run it again"
        )


@lru_cache(maxsize=9)
def _graph(name: str) -> Data:
    return load_dataset(name, split=None)
