"""What a report is about: a trained model on its graph, and the record of how it was made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data import neighbour_pairs
from herofilter.data.checks import MASKS
from herofilter.measures import DataCard, FitWarning, LabelPairs
from herofilter.patchers import Patches
from herofilter.predict import ColumnImportance
from herofilter.spectral import SpectralDensity, normalised_adjacency, spectral_density

PARTS = ("train", "val", "test", "")
_SMALL = 100_000


@dataclass(frozen=True, eq=False)
class Curves:
    """Responses of the learned filters over one grid.

    Args:
        grid: eigenvalues, or singular values where ``singular``.
        end: of the trained filters, by name.
        start: of the filters before training, by name; empty where it isn't known.
        singular: whether the grid holds singular values of a directed graph.
        between: of the filters by which patches were chosen anew, by epoch and name.
        between_grid: the values at which those are known.
    """

    grid: Tensor
    end: dict[str, Tensor]
    start: dict[str, Tensor]
    singular: bool = False
    between: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    between_grid: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rival:
    """A model that the report's own is compared with on the same nodes.

    Args:
        name: what it is.
        accuracy: on the test nodes, mean over splits if there are several.
        error: half the width of its 95 % interval; None where it isn't known.
        remark: where the number is from.
        behind: by how much it is behind the report's own on each split that both have.
    """

    name: str
    accuracy: float
    error: float | None
    remark: str
    behind: tuple[float, ...] = ()


@dataclass(frozen=True)
class Record:
    """How a model was made, from the files of its folder.

    Args:
        command: that repeats it; empty where it isn't known.
        config: all settings.
        history: one entry per epoch.
        metrics: what was measured on the nodes of this split.
        environment: versions and machine.
        made: seconds and peak memory of the command, where they are known.
        splits: the metrics of each split of a run.
        split: the one whose predictions are shown; None where a graph has a single one.
        rivals: what the model is compared with.
        notes: what was assumed of the tables.
        warnings: about the tables and the scores.
    """

    command: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    splits: dict[str, dict[str, Any]] = field(default_factory=dict)
    split: int | None = None
    rivals: tuple[Rival, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[FitWarning, ...] = ()

    def over_splits(self, name: str) -> list[float]:
        """Return a measure of every split of a run; nothing where one of them lacks it."""
        values = [entry.get(name) for entry in self.splits.values()]
        known = [float(value) for value in values if value is not None]
        return known if len(known) == len(values) else []


@dataclass(frozen=True, eq=False)
class Subject:
    """A trained model on its graph, with all that the sections of a report read.

    Args:
        graph: the name of the graph.
        model: what the model is called.
        data: edges, labels (-1 for unknown ones) and one-dimensional masks.
        card: the data card of the graph.
        id_of: the id of a node by its index.
        classes: what class 0, 1, … is called.
        probabilities: of all nodes, ``[n, C]``.
        patches: of all nodes; None for a model without patches.
        curves: of the learned filters; None where none is learned.
        record: how the model was made.
        explain: returns for some nodes which columns counted, as
            :func:`~herofilter.report.explanation.explain_nodes` tells; None where columns have no
            names.
        importance: how important each column is to the model, the most important first.
    """

    graph: str
    model: str
    data: Data
    card: DataCard
    id_of: Callable[[int], str]
    classes: tuple[str, ...]
    probabilities: Tensor
    patches: Patches | None
    curves: Curves | None
    record: Record
    explain: Callable[[list[int]], list[dict[str, Any]]] | None = None
    importance: tuple[ColumnImportance, ...] = ()

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return int(self.data.num_nodes or 0)

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.card.directed

    @cached_property
    def labels(self) -> Tensor:
        """The class of each node, -1 where it isn't known: ``[n]``."""
        y = self.data.get("y")
        return torch.full((self.num_nodes,), -1) if y is None else y.long()

    @cached_property
    def parts(self) -> Tensor:
        """For each node the position in ``PARTS`` of the part that it is in: ``[n]``."""
        found = torch.full((self.num_nodes,), len(PARTS) - 1)
        for position, name in enumerate(MASKS):
            mask = self.data.get(name)
            if mask is not None:
                found[mask.view(-1)] = position
        return found

    @cached_property
    def predicted(self) -> Tensor:
        """The most probable class of each node: ``[n]``."""
        return self.probabilities.argmax(dim=1)

    @cached_property
    def confidence(self) -> Tensor:
        """The probability of that class: ``[n]``."""
        return self.probabilities.max(dim=1).values

    @property
    def judged_part(self) -> str:
        """The part by which the model is judged: test, or validation where there is no test."""
        known = self.parts[self.labels >= 0]
        return next((part for part in ("test", "val") if (known == PARTS.index(part)).any()), "")

    @cached_property
    def judged(self) -> Tensor:
        """The nodes by which the model is judged: ``[t]``."""
        part = PARTS.index(self.judged_part)
        return ((self.parts == part) & (self.labels >= 0)).nonzero().view(-1)

    @cached_property
    def pairs(self) -> Tensor:
        """Each pair of neighbours in both orders, sorted, without self-loops: ``[2, m]``."""
        return neighbour_pairs(self.data.edge_index, self.num_nodes)

    @cached_property
    def degrees(self) -> Tensor:
        """The number of neighbours of each node: ``[n]``."""
        return torch.bincount(self.pairs[0], minlength=self.num_nodes)

    @cached_property
    def heterophily(self) -> Tensor:
        """The share of labelled neighbours with another label; NaN where it isn't defined."""
        known = self.label_pairs.num_neighbours > 0
        return self.label_pairs.node_heterophily_vector().masked_fill(~known, float("nan"))

    @cached_property
    def label_pairs(self) -> LabelPairs:
        """The pairs of labelled neighbours."""
        known = (self.labels >= 0)[self.pairs].all(dim=0)
        return LabelPairs(self.labels, self.pairs[:, known])

    @cached_property
    def spectrum(self) -> SpectralDensity:
        """How the eigenvalues of the normalised adjacency lie."""
        loops = bool(self.record.config.get("patcher", {}).get("self_loops", False))
        matrix = normalised_adjacency(
            self.data.edge_index, self.num_nodes, self.data.get("edge_weight"), self_loops=loops
        )
        return spectral_density(matrix, order=160 if self.num_nodes <= _SMALL else 80)

    def neighbours(self, node: int) -> Tensor:
        """Return the neighbours of a node."""
        first, last = torch.searchsorted(self.pairs[0], torch.tensor([node, node + 1])).tolist()
        return self.pairs[1, first:last]
