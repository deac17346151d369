"""A cell of a table: one model on one graph, its trials, its choices, its result.

On graphs of up to 3000 nodes the choice is nested: each split has a :class:`Search` of its own, in
which trials are trained on that split and judged by its validation nodes. A trial's training also
scores the test nodes, which saves a second training of the one that is chosen; the choice reads
none of these numbers. On larger graphs one :class:`Search` on a few splits chooses for all, without
test scores, and its choice is trained on all splits.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from herofilter.config import Config
from herofilter.reproduce.jobs import TrainingJob
from herofilter.reproduce.result_file import Key, ResultFile, config_hash
from herofilter.reproduce.table_graphs import GraphPlan
from herofilter.reproduce.table_rows import Row
from herofilter.reproduce.trials import Settings
from herofilter.training.search.space import PATCHED
from herofilter.training.search.suggest import flat

Record = dict[str, Any]
Trial = tuple[Settings, float | None]


@dataclass
class Search:
    """Trials of one model on some splits, and the choice that their validation nodes make.

    Args:
        row: of the table.
        graph: with the metric that validation is judged by.
        trials: how many settings are tried.
        search_splits: the splits on which they are.
        splits: those for which the choice counts.
        nested: whether ``splits`` are the search splits themselves.
        file: where finished trainings are.
        seed: of weights, dropout and batches.
        sampler_seed: of the proposals.
    """

    row: Row
    graph: GraphPlan
    trials: int
    search_splits: Sequence[int]
    splits: Sequence[int]
    nested: bool
    file: ResultFile
    seed: int = 0
    sampler_seed: int = 0
    _proposals: dict[tuple[float | None, ...], Settings] = field(default_factory=dict, repr=False)

    @property
    def stages(self) -> tuple[str, str]:
        """The stage of the trials and that of the result, for the file; one if nested."""
        return ("nested", "nested") if self.nested else ("search", "final")

    def key(self, settings: Settings, split: int, stage: str) -> Key:
        """Return under which key the file has a training."""
        # a default that changes is another HeroFilter; baselines name all that they read
        named = flat(self._config(settings)) if self.row.model in PATCHED else dict(settings)
        # where it was trained isn't what was trained
        named.pop("device", None)
        name = config_hash(self.row.model, named)
        return Key(
            self.graph.name, self.graph.variant, self.row.model, name, self.seed, split, stage
        )

    def found(self, settings: Settings, split: int, stage: str) -> Record | None:
        """Return a finished training, or None; one that lacked memory counts as unfinished."""
        record = self.file.records.get(self.key(settings, split, stage))
        return None if record is None or record.get("lacks_memory") else record

    def searched(self) -> list[Trial]:
        """Return the finished trials: settings, and mean on validation (None: it failed)."""
        trials: list[Trial] = []
        while len(trials) < self.trials:
            settings = self._next(trials)
            records = self._records(settings)
            if len(records) < len(self.search_splits):
                break
            values = [record.get(f"val_{self.graph.metric}") for record in records]
            good = [float(value) for value in values if value is not None]
            failed = len(good) < len(values)
            trials.append((settings, None if failed else statistics.fmean(good)))
        return trials

    def chosen(self, trials: int) -> tuple[Settings, float] | None:
        """Return what validation prefers of the first ``trials`` trials; the earlier of equals.

        None if fewer are finished, or none of them went well.
        """
        tried = self.searched()[:trials]
        valid = [(settings, score) for settings, score in tried if score is not None]
        if len(tried) < trials or not valid:
            return None
        return max(valid, key=lambda trial: trial[1])

    def result(self, trials: int) -> dict[int, Record]:
        """Return the scored trainings of what ``trials`` trials have chosen, by split."""
        choice = self.chosen(trials)
        if choice is None:
            return {}
        found = self._final(choice[0])
        return {split: record for split, record in found.items() if self._is_scored(record)}

    def due(self) -> list[tuple[TrainingJob, Key, Settings]]:
        """Return the trainings that can be done now; none when all are finished."""
        trials, choice = self.searched(), self.chosen(self.trials)
        if len(trials) < self.trials:
            settings, stage, splits = self._next(trials), self.stages[0], self.search_splits
        elif choice is not None:
            settings, stage, splits = choice[0], self.stages[1], self.splits
        else:
            return []
        graph, row, config = self.graph.name, self.row, self._config(settings)
        return [
            (
                TrainingJob(graph, row.name, row.model, config, split, stage != "search"),
                self.key(settings, split, stage),
                settings,
            )
            for split in splits
            if self.found(settings, split, stage) is None
        ]

    def failure(self) -> str:
        """Return the first error of the trainings; empty without one."""
        trials = self.searched()
        tried = [settings for settings, _ in trials]
        if len(tried) < self.trials:
            tried.append(self._next(trials))
        for stage, splits in zip(self.stages, (self.search_splits, self.splits), strict=True):
            for settings in tried:
                for split in splits:
                    record = self.file.records.get(self.key(settings, split, stage), {})
                    if record.get("failure"):
                        return str(record["failure"])
        return ""

    def count(self) -> tuple[int, int]:
        """Return how many trainings are finished and how many there are."""
        trials = self.searched()
        done, total = (count * len(self.search_splits) for count in (len(trials), self.trials))
        if len(trials) < self.trials:
            done += len(self._records(self._next(trials)))
        if self.nested:
            return done, total
        choice = self.chosen(self.trials)
        final = 0 if choice is None else len(self._final(choice[0]))
        return done + final, total + len(self.splits)

    def _final(self, settings: Settings) -> dict[int, Record]:
        found = {split: self.found(settings, split, self.stages[1]) for split in self.splits}
        return {split: record for split, record in found.items() if record is not None}

    def _is_scored(self, record: Record) -> bool:
        return record.get(f"test_{self.graph.metric}") is not None

    def _records(self, settings: Settings) -> list[Record]:
        found = [self.found(settings, split, self.stages[0]) for split in self.search_splits]
        return [record for record in found if record is not None]

    def _next(self, trials: Sequence[Trial]) -> Settings:
        known = tuple(score for _, score in trials)
        if known not in self._proposals:
            plan = self.row.plan(self.graph, self.sampler_seed)
            self._proposals[known] = plan.propose(known)
        return self._proposals[known]

    def _config(self, settings: Settings) -> Config:
        return Config().replace(**settings, seed=self.seed)


@dataclass
class TableCell:
    """One model on one graph: a search per split, or one for all splits.

    Args:
        row: of the table.
        graph: with its splits, and whether the choice is nested.
        trials: how many settings each search tries.
        file: where finished trainings are.
    """

    row: Row
    graph: GraphPlan
    trials: int
    file: ResultFile

    def __post_init__(self) -> None:
        row, graph, trials, file = self.row, self.graph, self.trials, self.file
        if graph.nested:
            self.searches = [
                Search(row, graph, trials, (split,), (split,), True, file, sampler_seed=split)
                for split in graph.splits
            ]
        else:
            several = graph.search_splits
            self.searches = [Search(row, graph, trials, several, graph.splits, False, file)]

    def result(self, trials: int) -> dict[int, Record]:
        """Return the scored training of each split whose choice had so many trials."""
        found = [search.result(trials) for search in self.searches]
        return {split: record for records in found for split, record in records.items()}

    def usable_trials(self) -> int:
        """Return how many trials the result has: all, or fewer if more trainings count that way.

        Every split has the same number of trials; scores have no say in how many.
        """
        counts = range(1, self.trials + 1)
        return max(counts, key=lambda trials: (trials * len(self.result(trials)), trials))

    def failure(self) -> str:
        """Return the first error of the cell's trainings; empty without one."""
        return next(filter(None, (search.failure() for search in self.searches)), "")
