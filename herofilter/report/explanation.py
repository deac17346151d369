"""Explanations of predictions, with the user's ids, columns and class names."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from herofilter.callbacks import Callback
from herofilter.data import TableGraph, is_directed
from herofilter.data.tables.column_ranges import ColumnRange, cell_text, column_ranges
from herofilter.data.tables.read_table import TableSource
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import RunError
from herofilter.nn import HeroFilter
from herofilter.nn.classifier import select
from herofilter.predict import (
    ColumnExplainer,
    ColumnExplanation,
    Explanation,
    Predictor,
    TokenShare,
    column_importance,
    explain_prediction,
)
from herofilter.predict.column_effects import ColumnEffect, graph_as_read
from herofilter.predict.explain import strongest_responses
from herofilter.predict.slot_words import slot_words
from herofilter.predict.tables import read_later
from herofilter.report.explanation_words import sentences

_USUAL = TableColumns()


def explain_saved(
    predictor: Predictor,
    node: str | int,
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    columns: TableColumns = _USUAL,
) -> dict[str, Any]:
    """Explain a node of the graph of training, or of tables, ready for JSON.

    Args:
        predictor: a fitted model with its graph.
        node: the id of the node.
        edges: new edges, if any, as for prediction.
        nodes: new nodes, if any.
        columns: what the columns of ids, of edges and of weights are called.

    Returns:
        ``node``, ``prediction``, ``probability``; ``columns`` (each with ``column``, ``value``,
        ``change`` and ``without``, the probability if the node had the mean instead); ``others``,
        the other nodes that count most (``id``, ``label``, ``change``, ``without`` and
        ``columns``); ``tried``, how many columns and other nodes were tried; ``tokens`` of a
        model with patches (``slot``, ``id``, ``score``, ``label``, ``change`` and ``share``) and
        ``legend``, what slots mean; ``response`` of the learned filters or None; ``notes``, what
        was assumed of the tables; and ``said``, the summary as sentences.
    """
    return next(explain_nodes(predictor, [node], edges, nodes, columns))


def explain_nodes(
    predictor: Predictor,
    node_ids: Sequence[str | int],
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    columns: TableColumns = _USUAL,
) -> Iterator[dict[str, Any]]:
    """Yield what :func:`explain_saved` returns for each of several nodes, in their order.

    The response of the filters, which is the same for all, is given for a single node only.
    """
    graph, _ = read_later(predictor, edges, nodes, columns)
    rows = torch.tensor(graph.positions(node_ids))
    known = edges is None and nodes is None
    model = predictor.for_nodes(rows) if known else predictor.on(graph.data, rows)
    explained = _ExplainedGraph(graph, model, () if known else graph.notes, len(rows) == 1)
    yield from map(explained.explain, rows.tolist())


def importance_of_columns(
    predictor: Predictor, repeats: int = 5, seed: int = 0, callback: Callback | None = None
) -> dict[str, Any]:
    """Return how important each column is to a model, ready for JSON.

    It is measured on the test nodes of the graph of training, or on the validation nodes if it has
    none.

    Returns:
        ``part`` and ``nodes``, what it was measured on; ``columns``, the most important first, each
        with the fields of :class:`~herofilter.predict.ColumnImportance`.
    """
    data = graph_as_read(predictor)
    for part in ("test", "val"):
        mask = data.get(f"{part}_mask")
        if mask is not None and mask.dim() == 1 and bool(mask.any()):
            nodes = mask.nonzero().flatten()
            break
    else:
        raise RunError(
            "the model must have test or validation nodes to measure columns on (got none); "
            "fit it on a table with labels"
        )
    found = column_importance(
        predictor.network,
        data,
        nodes,
        column_ranges(predictor.saved.encoder, int(data.x.size(1))),
        predictor.temperature,
        repeats,
        seed,
        callback,
    )
    return {
        "part": {"test": "test", "val": "validation"}[part],
        "nodes": nodes.numel(),
        "columns": [dict(vars(each)) for each in found],
    }


class _ExplainedGraph:
    """A graph and a model for it, from which nodes are explained one after the other."""

    def __init__(
        self, graph: TableGraph, model: Predictor, notes: Sequence[str], with_response: bool
    ) -> None:
        self.graph, self.model, self.notes = graph, model, list(notes)
        self.with_response = with_response
        self.classes = graph.shown_classes
        self.directed = is_directed(model.prepared)
        self.ranges: dict[str, ColumnRange] = {}
        self.explainer = None
        if not model.prepared.get("featureless", False):
            data = graph_as_read(model)
            ranges = column_ranges(model.saved.encoder, int(data.x.size(1)))
            self.ranges = {column.name: column for column in ranges}
            self.explainer = ColumnExplainer(model.network, data, ranges, model.temperature)

    def explain(self, node: int) -> dict[str, Any]:
        """Return the explanation of a node, by its row."""
        by_columns = None if self.explainer is None else self.explainer.explain(node)
        by_tokens = None
        if isinstance(self.model.network, HeroFilter):
            by_tokens = explain_prediction(self.model, node)
        predicted = by_columns or by_tokens
        if predicted is None:
            raise RunError(
                "a prediction can be explained by columns or by patches (got a model without "
                "patches on a graph without columns); train herofilter instead"
            )
        found: dict[str, Any] = {
            "node": self.graph.ids[node].as_py(),
            "notes": self.notes,
            "prediction": self.classes[predicted.predicted],
            "probability": predicted.probability,
            **self._columns(by_columns),
            **self._tokens(by_tokens),
        }
        reads = "columns" if self.model.network.ignores_graph else "graph"
        return {**found, "said": sentences(found, reads)}

    def _columns(self, found: ColumnExplanation | None) -> dict[str, Any]:
        if found is None:
            return {"columns": [], "others": [], "tried": {"columns": 0, "of": 0, "others": 0}}
        others = [
            {
                "id": self.graph.ids[other.node].as_py(),
                "label": self._label(other.node),
                "change": other.change,
                "without": _without(found.probability, other.change),
                "columns": self._effects(other.node, other.columns, found.probability),
            }
            for other in found.others
        ]
        return {
            "columns": self._effects(found.node, found.columns, found.probability),
            "others": others,
            "tried": {
                "columns": len(found.columns),
                "of": found.num_columns,
                "others": found.num_others,
            },
        }

    def _effects(
        self, node: int, effects: Sequence[ColumnEffect], probability: float
    ) -> list[dict[str, Any]]:
        row = self._row(node)
        return [
            {
                "column": effect.column,
                "value": self._cell(row, effect.column),
                "change": effect.change,
                "without": _without(probability, effect.change),
            }
            for effect in effects
        ]

    def _row(self, node: int) -> Tensor:
        row = select(self.graph.data.x, torch.tensor([node]))
        return (row.to_dense() if row.layout == torch.sparse_csr else row)[0]

    def _cell(self, row: Tensor, name: str) -> str | None:
        column = self.ranges[name]
        return cell_text(self.model.saved.encoder, name, row[column.start : column.stop].numpy())

    def _label(self, node: int) -> str | int | bool | None:
        """Return the class of a training node, None of any other."""
        y, mask = self.graph.data.get("y"), self.graph.data.get("train_mask")
        if y is None or mask is None or mask.dim() != 1 or not bool(mask[node]):
            return None
        return self.classes[int(y[node])]

    def _tokens(self, found: Explanation | None) -> dict[str, Any]:
        if found is None:
            return {"tokens": [], "legend": {}, "response": None}
        strongest = strongest_responses(found.response)
        peaks = {slot: eigenvalue for slot, (eigenvalue, _) in strongest.items()}
        slots = dict.fromkeys(token.slot for token in found.tokens)
        return {
            "tokens": [self._token(token) for token in found.tokens],
            "legend": {slot: slot_words(slot, self.directed, peaks.get(slot)) for slot in slots},
            "response": found.response if self.with_response else None,
        }

    def _token(self, token: TokenShare) -> dict[str, Any]:
        return {
            "slot": token.slot,
            "id": None if token.node is None else self.graph.ids[token.node].as_py(),
            "score": token.score,
            "label": None if token.label is None else self.classes[token.label],
            "change": token.change,
            "share": token.share,
        }


def _without(probability: float, change: float) -> float:
    """Return the probability of the class when its logarithm falls by ``change``."""
    return min(1.0, probability * math.exp(min(-change, 700.0)))
