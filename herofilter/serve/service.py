"""What the service knows and answers, without HTTP."""

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import herofilter
from herofilter.data.tables.label_columns import class_text
from herofilter.data.tables.plain_rows import id_column, rows_table
from herofilter.data.tables.predictions import TITLES, predictions_table
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import RunError
from herofilter.nn.naming import model_title
from herofilter.predict import Predictor
from herofilter.predict.tables import predict_tables, read_later
from herofilter.report.explanation import explain_saved
from herofilter.serve.bodies import Edge, ExplainRequest, PredictRequest, RequestError, Tables
from herofilter.serve.limits import Limits

_USUAL = Limits()
_LISTED = 5


class Service:
    """A model that answers requests, one at a time, whichever threads they come from.

    The predictions of the graph of training are computed here, once. A request with tables extends
    a copy of that graph, as ``herofilter predict`` does, and leaves no trace.

    Args:
        predictor: a fitted model with its graph.
        limits: how large a request may be.

    Example:
        >>> from herofilter import Config, csbm
        >>> from herofilter.data.tables.convert import from_edge_list
        >>> from herofilter.training.search.fitting import with_split
        >>> from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor
        >>> pairs = [(i, (i * 7 + 1) % 60) for i in range(60)]
        >>> graph = with_split(from_edge_list(pairs, {i: i % 2 for i in range(60)}), 0)
        >>> config = Config().replace(epochs=2)
        >>> trained = fit_split(PreparedGraphs(graph.data, 2), "mlp", config)
        >>> service = Service(make_predictor(trained, graph, graph.encoder))
        >>> answer = service.predict(PredictRequest(ids=[7]))
        >>> answer["predictions"][0]["id"], list(answer["predictions"][0]["probabilities"])
        (7, ['0', '1'])
    """

    def __init__(self, predictor: Predictor, limits: Limits = _USUAL) -> None:
        self.limits = limits
        self._predictor = predictor
        self._lock = threading.Lock()
        known = predict_tables(predictor)
        self._graph = known.graph
        self._classes = known.graph.shown_classes
        self._known = predictions_table(known.ids, self._classes, known.probabilities)

    @property
    def first_id(self) -> str | int:
        """The id of some node, as an example."""
        found: str | int = self._known["id"][0].as_py()
        return found

    def health(self) -> dict[str, Any]:
        """Return what is served."""
        saved = self._predictor.saved
        encoder = saved.encoder
        return {
            "status": "ok",
            "model": model_title(saved.model, saved.config),
            "classes": list(self._classes),
            "nodes": self._known.num_rows,
            "columns": [] if encoder is None else [column.name for column in encoder.columns],
            "weighted": self._graph.data.get("edge_weight") is not None,
            "limits": {
                "max_nodes": self.limits.max_nodes,
                "max_edges": self.limits.max_edges,
                "max_bytes": self.limits.max_bytes,
            },
            "version": herofilter.__version__,
        }

    def predict(self, request: PredictRequest) -> dict[str, Any]:
        """Return the predictions for the nodes of a request, and notes."""
        with self._lock:
            if request.nodes is None and request.edges is None:
                return {"predictions": self._answers(self._training_rows(request.ids)), "notes": []}
            return self._predict_tables(request)

    def explain(self, request: ExplainRequest) -> dict[str, Any]:
        """Return what ``herofilter explain --json`` prints for a node."""
        with self._lock:
            edges, nodes, columns, notes = self._tables(request)
            found = explain_saved(self._predictor, request.id, edges, nodes, columns)
            return {**found, "notes": [*found["notes"], *notes]}

    def _training_rows(self, ids: Sequence[str | int] | None) -> pa.Table:
        if ids is None:
            self._check_count(self._known.num_rows)
            return self._known
        return self._known.take(pa.array(self._graph.positions(ids), pa.int64()))

    def _predict_tables(self, request: PredictRequest) -> dict[str, Any]:
        edges, nodes, columns, notes = self._tables(request)
        graph, rows = read_later(self._predictor, edges, nodes, columns)
        order = np.arange(len(rows))
        if request.ids is not None:
            asked = np.array(graph.positions(request.ids), dtype=np.int64)
            # a node may be asked for twice
            different, order = np.unique(asked, return_inverse=True)
            rows = torch.from_numpy(different)
        self._check_count(len(rows))
        probabilities = self._predictor.on(graph.data, rows).predict_proba(rows)
        ids = graph.ids.take(pa.array(rows.numpy()))
        table = predictions_table(ids, self._classes, probabilities).take(pa.array(order))
        return {"predictions": self._answers(table), "notes": [*graph.notes, *notes]}

    def _tables(
        self, request: Tables
    ) -> tuple[pa.Table | None, pa.Table | None, TableColumns, list[str]]:
        """Return edges and nodes of a request, what their columns are called, and notes."""
        edges = nodes = None
        notes: list[str] = []
        weighted = False
        if request.edges is not None:
            edges, weighted = _edge_table(request.edges)
        if request.nodes is not None:
            nodes, notes = self._node_table(request.nodes)
        weight = "weight" if weighted else None
        columns = TableColumns(weight=weight, drop_unknown=request.drop_unknown)
        return edges, nodes, columns, notes

    def _node_table(self, nodes: Sequence[Any]) -> tuple[pa.Table, list[str]]:
        encoder = self._predictor.saved.encoder
        names = [] if encoder is None else [column.name for column in encoder.columns]
        if "id" in names:
            raise RunError(
                "the model must have no column called 'id' beside the ids to read nodes from JSON "
                "(got one); rename it and fit anew, or use herofilter predict"
            )
        found = rows_table(nodes, names, () if encoder is None else encoder.text_columns)
        ids = id_column([node["id"] for node in nodes])
        table = pa.table({"id": ids, **{name: found[name] for name in found.column_names}})
        unknown = sorted({name for node in nodes for name in node} - {"id", *names})
        if not unknown:
            return table, []
        listed = ", ".join(repr(name[:50]) for name in unknown[:_LISTED])
        more = ", …" if len(unknown) > _LISTED else ""
        return table, [f"columns that the model doesn't know aren't used: {listed}{more}"]

    def _check_count(self, count: int) -> None:
        if count > self.limits.max_nodes:
            raise RequestError(
                413,
                f"an answer must have at most {self.limits.max_nodes} predictions (got {count} "
                "nodes); name some of them in ids",
            )

    def _answers(self, table: pa.Table) -> list[dict[str, Any]]:
        names = [class_text(name) for name in self._classes]
        shares = zip(*(column.to_pylist() for column in table.columns[len(TITLES) :]), strict=True)
        columns = (table[name].to_pylist() for name in ("id", "prediction", "confidence"))
        return [
            {
                "id": node,
                "prediction": prediction,
                "confidence": confidence,
                "probabilities": dict(zip(names, row, strict=True)),
            }
            for node, prediction, confidence, row in zip(*columns, shares, strict=True)
        ]


def _edge_table(edges: Sequence[tuple[str | int, str | int] | Edge]) -> tuple[pa.Table, bool]:
    """Return edges as a table, and whether they have weights."""
    ends = [(each.source, each.target) if isinstance(each, Edge) else each for each in edges]
    weights = [each.weight if isinstance(each, Edge) else None for each in edges]
    columns = {
        "source": id_column([source for source, _ in ends]),
        "target": id_column([target for _, target in ends]),
    }
    weighted = any(weight is not None for weight in weights)
    if weighted:
        columns["weight"] = pa.array([_weight(weight) for weight in weights], pa.float64())
    return pa.table(columns), weighted


def _weight(value: float | None) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:
        # an integer may be larger than any float; weights that aren't finite are refused
        return math.inf
