"""The data card: all that a reader should know about a graph before trusting a result on it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch_geometric.data import Data

from herofilter.data import (
    check_graph,
    density,
    graph_structure,
    neighbour_pairs,
    num_splits,
    select_split,
)
from herofilter.data.checks import MASKS
from herofilter.data.tables.label_columns import class_text
from herofilter.measures.heterophily import edge_heterophily
from herofilter.measures.independence import edge_class_p_value
from herofilter.measures.label_pairs import LabelPairs
from herofilter.measures.leakage import repeated_test_rows
from herofilter.memory import free_memory

LEAKAGE_NODES = 50_000

_DIRECTED = (
    "directed: all patchers keep directions; directed=symmetrise forgets them, as the paper does"
)
_UNDIRECTED = "undirected: all patchers take it as it is"


@dataclass(frozen=True)
class SplitSizes:
    """How many splits there are, and the sizes of the first one's parts."""

    count: int
    train: int
    val: int
    test: int


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes that a patcher takes at its peak, and whether so many are free now."""

    patcher: str
    needed: int
    fits: bool


@dataclass(frozen=True)
class DataCard:
    """Size, labels, features, peculiarities, heterophily and needs of a graph.

    Args:
        name: of the dataset; may be empty.
        variant: which of several versions or splits this is; may be empty.
        num_edges: as listed, in each direction.
        num_undirected_edges: pairs of neighbours.
        classes: what the classes are called; empty if they have no names.
        class_counts: labelled nodes per class.
        num_features: None without features.
        feature_density: share of features that aren't zero; None without features.
        num_duplicates: listed edges that repeat an earlier one of the same direction.
        splits: None without all three masks.
        memory: one entry per patcher that the caller asked about.
        edge_class_p_value: near 0 if the edges have to do with the classes, see
            :func:`~herofilter.measures.edge_class_p_value`.
        direction_rule: what the patchers make of the direction of edges.
        repeated_test_rows: test nodes of the first split that share their features with a training
            node; None without splits or features and beyond 50,000 nodes.
    """

    name: str
    variant: str
    num_nodes: int
    num_edges: int
    num_undirected_edges: int
    classes: tuple[str, ...]
    class_counts: tuple[int, ...]
    num_unlabelled: int
    num_features: int | None
    feature_density: float | None
    directed: bool
    num_isolated: int
    num_self_loops: int
    num_duplicates: int
    splits: SplitSizes | None
    node_heterophily: float
    edge_heterophily: float
    class_adjusted_heterophily: float
    adjusted_homophily: float
    label_informativeness: float
    edge_class_p_value: float
    memory: tuple[MemoryNeed, ...]
    direction_rule: str
    repeated_test_rows: int | None

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.class_counts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; a measure that isn't defined becomes None."""
        values: dict[str, Any] = {"num_classes": self.num_classes}
        for key, value in dataclasses.asdict(self).items():
            if isinstance(value, tuple):
                values[key] = list(value)
            else:
                values[key] = None if isinstance(value, float) and math.isnan(value) else value
        return values


def data_card(
    data: Data,
    name: str = "",
    memory: Mapping[str, int] | None = None,
    classes: Sequence[str | int | bool] = (),
) -> DataCard:
    """Return the card of ``data``; see :class:`DataCard` for what is on it.

    Args:
        data: the graph, with one split or several, or none.
        name: of the dataset; ``data.name`` by default.
        memory: bytes that each patcher takes on this graph, as
            :func:`~herofilter.patchers.patcher_memory` tells; left out of the card by default.
        classes: what class 0, 1, … is called.

    Example:
        >>> ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> data = Data(edge_index=ring, y=torch.tensor([0, 1, 0, 1]), num_nodes=4)
        >>> card = data_card(data, "ring")
        >>> card.node_heterophily, card.adjusted_homophily, card.label_informativeness
        (1.0, -1.0, 1.0)
    """
    check_graph(data)
    shape = graph_structure(data)
    x = None if data.get("featureless", False) else data.x
    labels = LabelPairs.of(data)
    num_pairs = neighbour_pairs(data.edge_index, shape.num_nodes).size(1) // 2
    return DataCard(
        name=name or data.get("name", ""),
        variant=data.get("variant", ""),
        num_nodes=shape.num_nodes,
        num_edges=shape.num_edges,
        num_undirected_edges=num_pairs,
        classes=tuple(class_text(each) for each in classes),
        class_counts=tuple(torch.bincount(data.y[data.y >= 0], minlength=len(classes)).tolist()),
        num_unlabelled=int((data.y < 0).sum()),
        num_features=None if x is None else int(x.size(1)),
        feature_density=None if x is None else density(x),
        directed=shape.directed,
        num_isolated=shape.num_isolated,
        num_self_loops=shape.num_self_loops,
        num_duplicates=shape.num_duplicates,
        splits=_split_sizes(data),
        node_heterophily=labels.node_heterophily(),
        edge_heterophily=edge_heterophily(data),
        class_adjusted_heterophily=labels.class_adjusted_heterophily(),
        adjusted_homophily=labels.adjusted_homophily(),
        label_informativeness=labels.label_informativeness(),
        edge_class_p_value=edge_class_p_value(data),
        memory=_memory(memory or {}),
        direction_rule=_DIRECTED if shape.directed else _UNDIRECTED,
        repeated_test_rows=None if x is None else _repeated(data),
    )


def _has_splits(data: Data) -> bool:
    return num_splits(data) > 0 and all(data.get(mask) is not None for mask in MASKS)


def _split_sizes(data: Data) -> SplitSizes | None:
    if not _has_splits(data):
        return None
    first = select_split(data, 0)
    return SplitSizes(num_splits(data), *(int(first[mask].sum()) for mask in MASKS))


def _repeated(data: Data) -> int | None:
    if not _has_splits(data) or int(data.num_nodes) > LEAKAGE_NODES:
        return None
    return repeated_test_rows(select_split(data, 0))


def _memory(needs: Mapping[str, int]) -> tuple[MemoryNeed, ...]:
    free = free_memory()
    return tuple(MemoryNeed(patcher, needed, needed <= free) for patcher, needed in needs.items())
