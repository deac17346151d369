"""What a study is: independent tasks, and a summary of what they gave."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from herofilter.config import Config
from herofilter.report.figure import Figure
from herofilter.reproduce.result_file import Key, config_hash
from herofilter.reproduce.studies.graphs import graph_variant
from herofilter.reproduce.studies.verdict import Finding
from herofilter.training.search.space import PATCHED

Record = dict[str, Any]
Row = dict[str, Any]
FINAL = "final"


@dataclass(frozen=True)
class Task:
    """One unit of work, independent of all others.

    Args:
        graph: what :func:`~herofilter.reproduce.studies.graphs.study_graph` knows.
        model: a registered model, or the name of what is measured.
        config: the settings.
        split: the number of the split; other repetitions are numbered likewise.
        work: returns the record of a task; it must be at the top level of a module.
        stage: names the kind of work, so that two kinds on the same graph have two keys.
        variant: what the study calls this; it has no part in the key.
    """

    graph: str
    model: str
    config: Config
    split: int
    work: "Callable[[Task], Record]" = field(repr=False)
    stage: str = FINAL
    variant: str = ""

    @property
    def key(self) -> Key:
        """What makes the task: two tasks of the same key have the same record."""
        return Key(
            self.graph,
            graph_variant(self.graph),
            self.model,
            settings_hash(self.model, self.config),
            self.config.train.seed,
            self.split,
            self.stage,
        )

    def __str__(self) -> str:
        return f"{self.variant or self.model} on {self.graph}, split {self.split}"


class Finished(NamedTuple):
    """A task and what it gave."""

    task: Task
    record: Record


class Summary(NamedTuple):
    """The table, the figure and the finding of a study."""

    rows: list[Row]
    figure: Figure
    finding: Finding


class Study(ABC):
    """A table or figure of the paper, made again.

    Attributes:
        name: on the command line, and of its folder.
        title: a short headline.
        reproduces: what of the paper it is.
        claim: what the paper says there, in one sentence.
        alone: whether its tasks measure time and so must have the machine for themselves.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reproduces: ClassVar[str]
    claim: ClassVar[str]
    alone: ClassVar[bool] = False

    @abstractmethod
    def tasks(self, quick: bool) -> list[Task]:
        """Return the tasks, the longest first; ``quick`` asks for a few on tiny graphs."""

    @abstractmethod
    def summarise(self, finished: Sequence[Finished]) -> Summary:
        """Return what the records say; it depends on nothing else."""


def settings_hash(model: str, config: Config) -> str:
    """Return the hash of a model with all of its settings; ``drop_path`` is of mixers alone.

    Example:
        >>> settings_hash("gcn", Config()) == settings_hash("gcn", Config().replace(lr=0.02))
        False
    """
    settings = _flat(config.to_dict())
    if model not in PATCHED:
        # results from before this setting existed stay valid
        del settings["model.drop_path"]
    return config_hash(model, settings)


def _flat(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        f"{section}.{key}": value
        for section, entries in settings.items()
        for key, value in entries.items()
        if f"{section}.{key}" != "train.seed"
    }
