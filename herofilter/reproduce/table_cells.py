"""A cell of a table: one model on one graph, its trials, its choice, its final trainings."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from herofilter.config import Config
from herofilter.data.datasets.registry import REGISTRY
from herofilter.nn import find_model
from herofilter.reproduce.jobs import TrainingJob
from herofilter.reproduce.paper_tables import paper_models
from herofilter.reproduce.result_file import Key, ResultFile, config_hash
from herofilter.reproduce.trials import PROTOCOL, Plan, Settings
from herofilter.training.search.suggest import Value

MORE = ("linkx", "sgformer", "polynormer")

_HERO: dict[str, tuple[Value, ...]] = {
    "patch_size": (1, 9, 33),
    "num_layers": (0, 1),
    "aggregation": ("weighted", "slot_concat", "flatten"),
    "score_norm": ("l1", "max"),
}


@dataclass(frozen=True)
class Row:
    """One row of a table: a model, and settings that only this row has.

    Args:
        name: of the row; a model's for most.
        model: a registered model.
        base: what differs from the protocol.
        options: the model's own settings to search; None takes those of the registry.
        ranked: whether the row takes part in the ranking.
    """

    name: str
    model: str
    base: Mapping[str, Value] = field(default_factory=dict)
    options: Mapping[str, tuple[Value, ...]] | None = None
    ranked: bool = True

    def plan(self) -> Plan:
        """Return the row's trials."""
        options = find_model(self.model).options if self.options is None else self.options
        return Plan({**PROTOCOL, **self.base}, options)


def _hero(name: str, model: str, directed: str, ranked: bool = True) -> Row:
    # a stem and one mixer block are HeroFilter's two layers
    return Row(name, model, {"num_layers": 1, "directed": directed}, _HERO, ranked)


ROWS: dict[str, Row] = {
    row.name: row
    for row in (
        *(Row(name, name) for name in paper_models() if name != "herofilter"),
        *(Row(name, name) for name in MORE),
        _hero("fast-herofilter", "fast-herofilter", "symmetrise"),
        _hero("herofilter", "herofilter", "symmetrise"),
        _hero("herofilter-directed", "herofilter", "keep", ranked=False),
    )
}


@dataclass
class TableCell:
    """One model on one graph: trials on a few splits, then the best of them on all.

    Args:
        row: of the table.
        graph: a dataset.
        trials: how many settings are tried.
        search_splits: the splits on which they are.
        splits: those of the result.
        file: where finished trainings are.
        seed: of weights, dropout and batches.
    """

    row: Row
    graph: str
    trials: int
    search_splits: Sequence[int]
    splits: Sequence[int]
    file: ResultFile
    seed: int = 0
    _proposals: dict[tuple[float | None, ...], Settings] = field(default_factory=dict, repr=False)

    def key(self, settings: Settings, split: int, stage: str) -> Key:
        """Return under which key the file has a training."""
        name = config_hash(self.row.model, settings)
        variant = REGISTRY[self.graph].variant
        return Key(self.graph, variant, self.row.model, name, self.seed, split, stage)

    def found(self, settings: Settings, split: int, stage: str) -> dict[str, Any] | None:
        """Return a finished training, or None; one that lacked memory counts as unfinished."""
        row = self.file.records.get(self.key(settings, split, stage))
        return None if row is None or row.get("lacks_memory") else row

    def searched(self) -> list[tuple[Settings, float | None]]:
        """Return the finished trials: settings, and validation accuracy (None: it failed)."""
        trials: list[tuple[Settings, float | None]] = []
        while len(trials) < self.trials:
            settings = self._propose([score for _, score in trials])
            rows = [self.found(settings, split, "search") for split in self.search_splits]
            values = [row.get("val_accuracy") for row in rows if row is not None]
            if len(values) < len(rows):
                break
            good = [float(value) for value in values if value is not None]
            score = statistics.fmean(good) if len(good) == len(rows) else None
            trials.append((settings, score))
        return trials

    def chosen(self) -> tuple[Settings, float] | None:
        """Return what validation prefers once all trials are finished; the earlier of equals."""
        trials = self.searched()
        valid = [(settings, score) for settings, score in trials if score is not None]
        if len(trials) < self.trials or not valid:
            return None
        return max(valid, key=lambda trial: trial[1])

    def due(self) -> list[tuple[TrainingJob, Key, Settings]]:
        """Return the trainings that can be done now; none when all are finished."""
        trials, choice = self.searched(), self.chosen()
        if len(trials) < self.trials:
            settings = self._propose([score for _, score in trials])
            stage, splits = "search", self.search_splits
        elif choice is not None:
            (settings, _), stage, splits = choice, "final", self.splits
        else:
            return []
        config = Config().replace(**settings, seed=self.seed)
        return [
            (
                TrainingJob(
                    self.graph, self.row.name, self.row.model, config, split, stage == "final"
                ),
                self.key(settings, split, stage),
                settings,
            )
            for split in splits
            if self.found(settings, split, stage) is None
        ]

    def finals(self) -> dict[int, dict[str, Any]]:
        """Return the finished trainings of the chosen settings, by split."""
        choice = self.chosen()
        if choice is None:
            return {}
        rows = {split: self.found(choice[0], split, "final") for split in self.splits}
        return {split: row for split, row in rows.items() if row is not None}

    def failure(self) -> str:
        """Return the first error of the cell's trainings; empty without one."""
        trials = self.searched()
        every = [settings for settings, _ in trials]
        if len(every) < self.trials:
            every.append(self._propose([score for _, score in trials]))
        for stage, splits in (("search", self.search_splits), ("final", self.splits)):
            for settings in every:
                for split in splits:
                    row = self.file.records.get(self.key(settings, split, stage), {})
                    if row.get("failure"):
                        return str(row["failure"])
        return ""

    def count(self) -> tuple[int, int]:
        """Return how many trainings are finished and how many there are."""
        trials = self.searched()
        done = len(trials) * len(self.search_splits) + len(self.finals())
        if len(trials) < self.trials:
            settings = self._propose([score for _, score in trials])
            rows = [self.found(settings, split, "search") for split in self.search_splits]
            done += sum(row is not None for row in rows)
        return done, self.trials * len(self.search_splits) + len(self.splits)

    def _propose(self, scores: Sequence[float | None]) -> Settings:
        known = tuple(scores)
        if known not in self._proposals:
            self._proposals[known] = self.row.plan().propose(scores)
        return self._proposals[known]
