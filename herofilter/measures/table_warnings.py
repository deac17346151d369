"""What is suspicious about the user's tables, told before any model is trained."""

import math

import numpy as np
from torch_geometric.data import Data

from herofilter.data import TableGraph
from herofilter.data.tables.label_columns import class_text
from herofilter.measures.card import DataCard
from herofilter.measures.fit_warning import FitWarning, listed, percent
from herofilter.measures.independence import edge_class_p_value
from herofilter.measures.label_pairs import LabelPairs
from herofilter.measures.leakage import repeats_by_chance
from herofilter.measures.single_columns import single_column_accuracy

# a column tells the class if it avoids this share of the errors of the commonest class
TELLS = 0.9
FEWEST_VALIDATION_NODES = 20
FEW_EXAMPLES = 2
LARGE_MAJORITY = 0.7
MANY_ISOLATED = 0.05
MANY_REPEATED = 0.01
FEWEST_EDGES, BY_CHANCE = 50, 0.05
# times as many repeated rows as in a shuffled table, whose columns repeat by chance
BEYOND_CHANCE = 2.0

_LEAVE_OUT = "name the other columns with --features"


def table_warnings(graph: TableGraph, card: DataCard) -> tuple[FitWarning, ...]:
    """Return what is suspicious about a graph, of training and validation labels at most.

    Without a split, what depends on labels isn't looked at.

    Args:
        graph: the user's graph, split.
        card: of the same graph.
    """
    data = graph.data
    found = [*_id_columns(graph)]
    if _has(data, "train_mask") and data.get("y") is not None:
        found += [*_rare_classes(graph), *_imbalance(graph), *_unrelated_edges(data)]
        if _has(data, "val_mask"):
            found += _telling_columns(graph)
    return (*found, *_isolated(card), *_repeated_rows(graph, card))


def training_counts(graph: TableGraph) -> np.ndarray:
    """Return the number of training nodes of each class: ``[C]``."""
    data = graph.data
    labels = data.y[data.train_mask].numpy()
    return np.bincount(labels, minlength=len(graph.classes))


def _id_columns(graph: TableGraph) -> list[FitWarning]:
    rows = int(graph.data.num_nodes or 0)
    return [
        FitWarning(
            "id-column",
            f"the column {name!r} holds another whole number in each of {rows} rows, like an id, "
            "which says nothing about other nodes",
            f"if it is one, {_LEAVE_OUT}",
            "columns",
        )
        for name in graph.id_like
    ]


def _telling_columns(graph: TableGraph) -> list[FitWarning]:
    data = graph.data
    labels = data.y[data.val_mask].numpy()
    if labels.size < FEWEST_VALIDATION_NODES:
        return []
    commonest = int(training_counts(graph).argmax())
    always = float((labels == commonest).mean())
    name = class_text(graph.shown_classes[commonest])
    return [
        FitWarning(
            "telling-column",
            f"the column {column!r} alone tells the class of {percent(share)} of the validation "
            f"nodes (always {name!r}: {percent(always)}), as if it were filled in once the class "
            "is known",
            f"if later tables won't have it, {_LEAVE_OUT}",
            "columns",
        )
        for column, share in single_column_accuracy(data, graph.encoder).items()
        if always < 1 and share - always >= TELLS * (1 - always)
    ]


def _rare_classes(graph: TableGraph) -> list[FitWarning]:
    counts = training_counts(graph)
    rare = [
        f"{class_text(name)!r} ({count})"
        for name, count in zip(graph.shown_classes, counts.tolist(), strict=True)
        if count <= FEW_EXAMPLES
    ]
    if not rare:
        return []
    classes = "the class" if len(rare) == 1 else "the classes"
    has = "has" if len(rare) == 1 else "have"
    return [
        FitWarning(
            "rare-classes",
            f"{classes} {listed(rare)} {has} at most two training nodes, too few to learn from",
            "label more such nodes, or merge what is rare with other classes",
            "classes",
        )
    ]


def _imbalance(graph: TableGraph) -> list[FitWarning]:
    counts = training_counts(graph)
    share, commonest = float(counts.max() / counts.sum()), int(counts.argmax())
    if share < LARGE_MAJORITY:
        return []
    name = class_text(graph.shown_classes[commonest])
    return [
        FitWarning(
            "imbalance",
            f"{percent(share)} of the training nodes are {name!r}, so that accuracy says little",
            "choose by balanced accuracy with --metric balanced, or try --class-weights",
            "classes",
        )
    ]


def _unrelated_edges(data: Data) -> list[FitWarning]:
    training = data.clone()
    training.y = data.y.masked_fill(~data.train_mask, -1)
    edges = LabelPairs.of(training).pairs.size(1) // 2
    chance = edge_class_p_value(training) if edges >= FEWEST_EDGES else 0.0
    # not a number, where training nodes of one class are linked, isn't above anything
    if not chance > BY_CHANCE:
        return []
    return [
        FitWarning(
            "unrelated-edges",
            f"the classes at both ends of {edges} edges between training nodes are paired as by "
            f"chance (p = {chance:.2f}), so that a neighbour's class tells nothing",
            "if it should, check that both tables mean the same node by the same id",
            "nodes",
        )
    ]


def _isolated(card: DataCard) -> list[FitWarning]:
    share = card.num_isolated / card.num_nodes
    if share < MANY_ISOLATED:
        return []
    return [
        FitWarning(
            "isolated-nodes",
            f"{card.num_isolated} of {card.num_nodes} nodes ({percent(share)}) have no edges, so "
            "that their predictions rest on their own columns alone",
            "if that isn't meant, check that both tables spell the ids alike",
            "nodes",
        )
    ]


def _repeated_rows(graph: TableGraph, card: DataCard) -> list[FitWarning]:
    if not card.repeated_test_rows or card.splits is None or graph.encoder.degrees is not None:
        return []
    repeated, share = card.repeated_test_rows, card.repeated_test_rows / card.splits.test
    chance = repeats_by_chance(graph.data, graph.encoder)
    noise = 3 * math.sqrt(chance)
    if share < MANY_REPEATED or repeated < max(BEYOND_CHANCE * chance, chance + noise):
        return []
    return [
        FitWarning(
            "repeated-rows",
            f"{repeated} of {card.splits.test} test nodes ({percent(share)}) have "
            "exactly the columns of a training node, so that the test score flatters the model",
            "remove rows that stand twice in the table, or keep them in one part with --split",
            "split",
        )
    ]


def _has(data: Data, name: str) -> bool:
    mask = data.get(name)
    return mask is not None and mask.dim() == 1 and bool(mask.any())
