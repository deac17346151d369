"""The graphs of the tables, and how settings are chosen on each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from herofilter.data import is_directed, load_dataset
from herofilter.data.datasets.registry import REGISTRY
from herofilter.reproduce.paper_tables import TABLES as PAPER_TABLES

# the paper has none of the last; Platonov et al. (2023) made them without the flaws of the others
TABLES = {**PAPER_TABLES, "modern": ("chameleon-filtered", "squirrel-filtered", "minesweeper")}
# nodes up to which every split chooses its own settings
NESTED_UP_TO = 3000
# nodes up to which so many splits search on behalf of all
SEARCH_SPLITS = ((5000, 2), (math.inf, 1))
# from the small graphs up, so that a run that is cut short leaves complete columns
BY_SIZE = (
    "texas",
    "cornell",
    "wisconsin",
    "chameleon-filtered",
    "cora",
    "squirrel-filtered",
    "chameleon",
    "citeseer",
    "actor",
    "squirrel",
    "minesweeper",
    "pubmed",
    "ogbn-arxiv",
    "arxiv-year",
    "snap-patents",
)


@dataclass(frozen=True)
class GraphPlan:
    """What the protocol needs to know of a graph.

    Args:
        name: of the dataset.
        num_nodes: n.
        directed: whether its edges have directions.
        splits: the numbers of the splits that are asked for.
    """

    name: str
    num_nodes: int
    directed: bool
    splits: tuple[int, ...]

    @property
    def metric(self) -> str:
        """What models are judged by here, on validation and test nodes: accuracy or auc."""
        return REGISTRY[self.name].metric

    @property
    def variant(self) -> str:
        """The version of the data and of its splits."""
        return REGISTRY[self.name].variant

    @property
    def nested(self) -> bool:
        """Whether every split chooses its own settings, by its own validation nodes."""
        return self.num_nodes <= NESTED_UP_TO

    @property
    def search_splits(self) -> tuple[int, ...]:
        """The splits on which settings are tried: all with a nested choice, else the first few."""
        if self.nested:
            return self.splits
        count = next(count for limit, count in SEARCH_SPLITS if self.num_nodes <= limit)
        return tuple(range(min(count, REGISTRY[self.name].num_splits)))


def plan_graph(name: str, splits: Sequence[int] | None = None) -> GraphPlan:
    """Load a graph and return its plan, for some of its splits or all.

    Example:
        >>> plan = plan_graph("karate", [0, 3])
        >>> plan.nested, plan.search_splits, plan.metric
        (True, (0, 3), 'accuracy')
    """
    data = load_dataset(name, split=None)
    return GraphPlan(name, int(data.num_nodes or 0), is_directed(data), splits_of(name, splits))


def splits_of(name: str, splits: Sequence[int] | None) -> tuple[int, ...]:
    """Return those of the splits that a graph has; all of them for None."""
    count = REGISTRY[name].num_splits
    return tuple(split for split in range(count) if splits is None or split in splits)


def by_size(names: Sequence[str]) -> list[str]:
    """Return graphs in the order in which they are trained; unknown sizes come first."""
    return sorted(names, key=lambda name: BY_SIZE.index(name) if name in BY_SIZE else -1)
