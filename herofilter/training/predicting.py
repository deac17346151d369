"""Predictions for tables: the graph of training, the same one grown, or a new one."""

from dataclasses import dataclass

import pyarrow as pa
from torch import Tensor

from herofilter.data.grow import read_grown
from herofilter.data.tables import TableSource
from herofilter.errors import RunError
from herofilter.training.model_folder import SavedModel


@dataclass(frozen=True, eq=False)
class Predicted:
    """Probabilities of some nodes, by their ids.

    Args:
        ids: of the nodes.
        probabilities: ``[b, C]``.
        notes: what was assumed, one sentence each.
    """

    ids: pa.Array
    probabilities: Tensor
    notes: tuple[str, ...]


def predict_tables(
    saved: SavedModel,
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    *,
    id_column: str = "id",
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
) -> Predicted:
    """Predict the nodes of a table with a saved model.

    Without tables it is the graph of training; :func:`~herofilter.data.grow.read_grown` tells how
    tables are understood. Patches are made for the nodes asked for alone.

    Args:
        saved: a model that keeps its graph and its encoder.
        edges: new edges, if any.
        nodes: new nodes, if any.
        id_column, source, target, weight: columns of the tables.
    """
    if saved.encoder is None:
        raise RunError(
            "the model must have been fitted on tables to predict tables (got one without an "
            "encoder); use HeroFilterClassifier.load and its predict instead"
        )
    own, rows = read_grown(
        saved.training_graph(),
        edges,
        nodes,
        id_column=id_column,
        source=source,
        target=target,
        weight=weight,
    )
    notes = () if own is saved.graph else own.notes
    return Predicted(
        own.ids.take(pa.array(rows.numpy())), saved.predict_proba(own.data, rows), notes
    )
