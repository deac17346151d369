"""A graph from the user's tables: edges, and perhaps nodes with features and labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.structure import symmetrise
from herofilter.data.tables.edge_list import merged_edges, read_weights
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.id_like import id_like_columns
from herofilter.data.tables.label_columns import Class, class_names, read_labels, read_split
from herofilter.data.tables.node_ids import match_ids, nearest_id
from herofilter.data.tables.node_table import NodeTable
from herofilter.data.tables.read_table import TableSource, open_table
from herofilter.data.tables.table_columns import (
    TableColumns,
    find_column,
    find_ends,
    unused_weight,
)
from herofilter.errors import ConfigError, GraphError


@dataclass(frozen=True, eq=False)
class TableGraph:
    """A graph together with what its nodes, classes and features are called in the tables.

    Args:
        data: ``x``, ``edge_index``, ``num_nodes``; ``y`` with a label (-1 is unlabelled),
            ``edge_weight`` with a weight, and three masks of shape ``[n]`` with a split.
        ids: the id of each node, in the order of the nodes.
        classes: what class 0, 1, … is called.
        encoder: how columns became features, to be used again on later tables.
        notes: what was left out, merged or assumed, one sentence each.
        class_names: the classes as a text file spells them, where that differs; else empty.
        id_like: feature columns that look like ids, if the table was read here.
    """

    data: Data
    ids: pa.Array
    classes: tuple[Class, ...]
    encoder: FeatureEncoder
    notes: tuple[str, ...] = ()
    class_names: tuple[Class, ...] = ()
    id_like: tuple[str, ...] = ()

    @property
    def shown_classes(self) -> tuple[Class, ...]:
        """What class 0, 1, … is called where people read it."""
        return self.class_names or self.classes

    def position(self, node_id: str | int) -> int:
        """Return the row of the node called ``node_id``; "42" finds 42 and the other way round."""
        return self.positions([node_id])[0]

    def positions(self, node_ids: Sequence[str | int]) -> list[int]:
        """Return the rows of several nodes, as :meth:`position` does."""
        names = self.ids.cast(pa.large_string())
        wanted = pa.array([str(node_id) for node_id in node_ids], pa.large_string())
        found: list[int] = pc.index_in(wanted, value_set=names).to_pylist()
        for node_id, row in zip(node_ids, found, strict=True):
            if row is None:
                raise GraphError(
                    f"a node must be called by an id of the graph (got {node_id!r})"
                    f"{nearest_id(str(node_id), names)}"
                )
        return found


def read_graph(
    edges: TableSource,
    nodes: TableSource | None = None,
    label: str | None = None,
    *,
    id_column: str = "id",
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    split: str | None = None,
    features: Sequence[str] | None = None,
    directed: bool = True,
    drop_unknown: bool = False,
    encoding: str = "utf-8",
    encoder: FeatureEncoder | None = None,
    classes: Sequence[Class] | None = None,
) -> TableGraph:
    """Read a graph from tables: CSV, TSV or Parquet files, data frames, or Arrow tables.

    Ids may be text or integers of any size; in text files they stay text, as in "007", unless all
    are plain integers. Repeated edges are merged and their weights added.

    Args:
        edges: one row per edge.
        nodes: one row per node; without it, the nodes are those that edges name.
        label: the column of classes; nodes without one are unlabelled.
        id_column: the nodes' column of ids; usual other names are found, with a note.
        source: the edges' column of ids at which they begin; usual other names are found, too.
        target: the edges' column of ids at which they end, likewise.
        weight: the column of edge weights.
        split: a column of train, val and test; other nodes hold nothing in it.
        features: the columns to learn from; by default all others.
        directed: whether an edge runs one way only.
        drop_unknown: whether edges to ids without a row in the nodes are dropped, with a note.
        encoding: of text files, such as ``cp1252``.
        encoder: that of a trained model, applied to the tables as it is.
        classes: those of a trained model, in its order.

    Example:
        >>> edges = pa.table({"source": ["ann", "bob"], "target": ["bob", "cy"]})
        >>> people = {"id": ["ann", "bob", "cy"], "age": [31, 25, 40], "team": ["x", "y", "x"]}
        >>> graph = read_graph(edges, pa.table(people), "team")
        >>> graph.data.y.tolist(), graph.classes, graph.position("bob")
        ([0, 1, 0], ('x', 'y'), 1)
        >>> graph.encoder.names
        ('age',)
    """
    columns = TableColumns(
        id=id_column,
        source=source,
        target=target,
        weight=weight,
        label=label,
        split=split,
        features=None if features is None else tuple(features),
        drop_unknown=drop_unknown,
        encoding=encoding,
    )
    return read_tables(edges, nodes, columns, directed=directed, encoder=encoder, classes=classes)


def read_tables(
    edges: TableSource,
    nodes: TableSource | None,
    columns: TableColumns,
    *,
    directed: bool = True,
    encoder: FeatureEncoder | None = None,
    classes: Sequence[Class] | None = None,
) -> TableGraph:
    """Read a graph as :func:`read_graph` does, with the names of the columns in one object."""
    if nodes is None and (columns.label or columns.split or columns.features):
        raise ConfigError(
            "label, split and features are columns of the nodes (got no nodes); give their table"
        )
    if encoder is not None and columns.features is not None:
        raise ConfigError("an encoder knows its columns (got features too); give one of the two")
    edge_file = open_table(edges, "edges", columns.encoding)
    start, end, notes = find_ends(edge_file.names, columns.source, columns.target)
    weight = columns.weight and find_column(edge_file.names, columns.weight, "edges")
    edge_table = edge_file.read([start, end, *([weight] if weight else [])], text=[start, end])
    if encoder is None and not weight:
        notes += unused_weight(edge_file.names, (start, end))
    if not edge_table.num_rows:
        notes.append(
            "the edges have no rows, so every node stands alone; "
            "if that isn't meant, check the file of edges"
        )
    node_file = None if nodes is None else open_table(nodes, "nodes", columns.encoding)
    found = NodeTable.read(node_file, columns, encoder)
    matched = match_ids(
        found.ids,
        edge_table[start],
        edge_table[end],
        nodes_text=found.text,
        edges_text=edge_file.is_text,
        drop_unknown=columns.drop_unknown,
    )
    notes += [*found.notes, *matched.notes]
    num_nodes = len(matched.ids)
    if num_nodes == 0:
        raise GraphError(
            "a graph must have at least one node (got tables without rows); check the files"
        )
    weights = read_weights(edge_table[weight], weight)[matched.kept] if weight else None
    data, edge_notes = _graph(matched.source, matched.target, weights, num_nodes, directed)
    notes += edge_notes
    table = pa.table({"id": matched.ids}) if found.table is None else found.table
    id_like: tuple[str, ...] = ()
    if encoder is None:
        encoder = FeatureEncoder.fit(table, found.features, data.edge_index, found.spelt)
        notes += encoder.notes
        id_like = id_like_columns(table, [column.name for column in encoder.columns])
    data.x = encoder.transform(table, data.edge_index)
    called = names = () if classes is None else tuple(classes)
    if found.label is not None:
        data.y, called, label_notes = read_labels(
            table[found.label], found.label, classes, text=found.text
        )
        notes += label_notes
        names = class_names(table[found.label], data.y, called)
    if found.split is not None:
        notes += _set_masks(data, read_split(table[found.split], found.split))
    spelt = () if names == called else names
    return TableGraph(data, matched.ids, called, encoder, tuple(notes), spelt, id_like)


def _graph(
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    num_nodes: int,
    directed: bool,
) -> tuple[Data, list[str]]:
    edge_index, edge_weight, notes = merged_edges(source, target, weights, num_nodes)
    data = Data(edge_index=edge_index, num_nodes=num_nodes)
    if edge_weight is not None:
        data.edge_weight = edge_weight
    return (data if directed else symmetrise(data)), notes


def _set_masks(data: Data, masks: dict[str, Tensor]) -> list[str]:
    """Put masks on the graph, without nodes that can't be learned from or tested on."""
    labelled = data.y >= 0 if data.y is not None else torch.ones(data.num_nodes, dtype=torch.bool)
    dropped = sum(int((mask & ~labelled).sum()) for mask in masks.values())
    for name, mask in masks.items():
        data[name] = mask & labelled
    return [f"{dropped} nodes of the split have no label and aren't in it"] if dropped else []
