"""Warnings about a model that was kept: its scores, and what it can't read of the graph."""

from collections.abc import Mapping
from typing import Any

from herofilter.data import is_directed
from herofilter.data.tables.label_columns import class_text
from herofilter.measures import FitWarning, direction_warning, score_warnings
from herofilter.measures.table_warnings import training_counts
from herofilter.nn import find_model
from herofilter.training.predictor import Predictor


def result_warnings(
    predictor: Predictor, validation: Mapping[str, Any], test: Mapping[str, Any], title: str
) -> tuple[FitWarning, ...]:
    """Return what is suspicious about a trained model.

    Args:
        predictor: the model, with its graph.
        validation, test: its measures, see :func:`~herofilter.training.metrics.full_score`.
        title: what it is called in a sentence.
    """
    saved, graph = predictor.saved, predictor.saved.training_graph
    majority = int(training_counts(graph).argmax())
    keeps = find_model(saved.model).directed and saved.config.patcher.directed == "keep"
    reads = keeps or predictor.network.ignores_graph
    return (
        *score_warnings(validation, test, majority, class_text(graph.shown_classes[majority])),
        *direction_warning(not reads and is_directed(graph.data), reads, title),
    )
