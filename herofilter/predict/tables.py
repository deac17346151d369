"""Predictions for tables: the training graph, that graph extended, or a new one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.callbacks import Callback
from herofilter.data.graph_spec import count_classes
from herofilter.data.tables.extend_graph import read_extended
from herofilter.data.tables.predictions import split_parts, write_predictions
from herofilter.data.tables.read_graph import TableGraph
from herofilter.data.tables.read_table import TableSource
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import RunError
from herofilter.nn import NodeClassifier
from herofilter.training.loop import stream_logits
from herofilter.training.predictor import Predictor as Predictor

_USUAL = TableColumns()


@dataclass(frozen=True, eq=False)
class Predicted:
    """Some nodes of a graph, by their ids, and their probabilities.

    Args:
        ids: of the nodes.
        notes: what was assumed, one sentence each.
        predictor: the model for the graph.
        nodes: ``[b]``, in the order of the ids.
        graph: the graph with its labels and masks, as far as they are known.
    """

    ids: pa.Array
    notes: tuple[str, ...]
    predictor: Predictor
    nodes: Tensor
    graph: TableGraph

    def chunks(self) -> Iterator[Tensor]:
        """Yield the probabilities in order, some nodes at a time: ``[·, C]`` each."""
        if not self.nodes.numel():
            yield self.probabilities
            return
        yield from self.predictor.stream(self.nodes)

    @cached_property
    def probabilities(self) -> Tensor:
        """All probabilities at once: ``[b, C]``."""
        return self.predictor.predict_proba(self.nodes)

    def write(self, path: str | Path, callback: Callback | None = None, safe: bool = False) -> None:
        """Write the predictions beside what is known of the nodes, some nodes at a time.

        With ``safe`` no cell of a CSV file begins like a formula.
        """
        data, classes = self.graph.data, self.graph.shown_classes
        labels = None if data.y is None else data.y[self.nodes]
        parts = split_parts(data)[self.nodes]
        write_predictions(path, self.ids, classes, self.chunks(), callback, labels, parts, safe)


def predict_tables(
    predictor: Predictor,
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    columns: TableColumns = _USUAL,
) -> Predicted:
    """Predict the nodes of a table.

    Without tables these are the nodes of the training graph; ``extend_graph.read_extended`` tells
    how tables are understood. Patches are made for the nodes asked for alone.

    Args:
        predictor: a model that keeps its graph and, for tables, its encoder.
        edges: new edges, if any.
        nodes: new nodes, if any.
        columns: what the columns of ids, of edges and of weights are called.
    """
    graph, rows = read_later(predictor, edges, nodes, columns)
    ids = graph.ids.take(pa.array(rows.numpy()))
    if edges is None and nodes is None:
        return Predicted(ids, (), predictor, rows, graph)
    return Predicted(ids, graph.notes, predictor.on(graph.data, rows), rows, graph)


def read_later(
    predictor: Predictor,
    edges: TableSource | None,
    nodes: TableSource | None,
    columns: TableColumns = _USUAL,
) -> tuple[TableGraph, Tensor]:
    """Return the graph that later tables make, or that of training, and the rows asked for."""
    if predictor.saved.encoder is None and (edges is not None or nodes is not None):
        raise RunError(
            "the model must have been fitted on tables to predict tables (got one without an "
            "encoder); use Predictor.load and its method on(data) instead"
        )
    return read_extended(predictor.saved.training_graph, edges, nodes, columns)


def write_node_predictions(
    path: str | Path,
    model: NodeClassifier,
    data: Data,
    classes: Sequence[str | int | bool] | None = None,
    callback: Callback | None = None,
) -> None:
    """Write a trained model's prediction for every node of a graph, chunk by chunk.

    The logits of all nodes are never held at once. Ids are the indices of the nodes.

    Args:
        path: a ``.csv`` or ``.parquet`` file.
        model: trained on the graph.
        data: the graph; its features may be on disk.
        classes: what class 0, 1, … is called; by default their indices.
        callback: takes events of stage ``rows``: rows that are written.

    Example:
        >>> import tempfile
        >>> from herofilter import FastPatcher, HeroFilter, csbm
        >>> data = csbm(num_nodes=100, num_classes=3)
        >>> model = HeroFilter(32, 3, patcher=FastPatcher(patch_size=8)(data))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_node_predictions(Path(folder) / "all.csv", model, data)
        ...     len((Path(folder) / "all.csv").read_text().splitlines())
        101
    """
    ids = pa.array(np.arange(int(data.num_nodes or 0)))
    names = range(count_classes(data)) if classes is None else classes
    parts = (torch.softmax(part.double(), dim=1) for part in stream_logits(model, data))
    labels = data.y if data.y is not None and data.y.dim() == 1 else None
    write_predictions(path, ids, list(names), parts, callback, labels, split_parts(data))
