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
from herofilter.data.tables.label_columns import Class, read_labels, read_split
from herofilter.data.tables.node_ids import match_ids, nearest_id
from herofilter.data.tables.read_table import OpenTable, TableSource, open_table
from herofilter.data.tables.table_columns import find_column, find_ends, find_features, find_id
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
    """

    data: Data
    ids: pa.Array
    classes: tuple[Class, ...]
    encoder: FeatureEncoder
    notes: tuple[str, ...] = ()

    def position(self, node_id: str | int) -> int:
        """Return the row of the node called ``node_id``; "42" finds 42 and the other way round."""
        names = self.ids.cast(pa.large_string())
        found = int(pc.index(names, pa.scalar(str(node_id), pa.large_string())).as_py())
        if found < 0:
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
        id_column, source, target: where the ids are; usual other names are found, with a note.
        weight: the column of edge weights.
        split: a column of train, val and test; other nodes hold nothing in it.
        features: the columns to learn from; by default all others.
        directed: whether an edge runs one way only.
        encoder, classes: those of a trained model, applied to the tables as they are.

    Example:
        >>> edges = pa.table({"source": ["ann", "bob"], "target": ["bob", "cy"]})
        >>> people = {"id": ["ann", "bob", "cy"], "age": [31, 25, 40], "team": ["x", "y", "x"]}
        >>> graph = read_graph(edges, pa.table(people), "team")
        >>> graph.data.y.tolist(), graph.classes, graph.position("bob")
        ([0, 1, 0], ('x', 'y'), 1)
        >>> graph.encoder.names
        ('age',)
    """
    if nodes is None and (label or split or features):
        raise ConfigError(
            "label, split and features are columns of the nodes (got no nodes); give their table"
        )
    if encoder is not None and features is not None:
        raise ConfigError("an encoder knows its columns (got features too); give one of the two")
    edge_file = open_table(edges, "edges")
    start, end, notes = find_ends(edge_file.names, source, target)
    weight = weight and find_column(edge_file.names, weight, "edges")
    columns = [start, end, *([weight] if weight else [])]
    edge_table = edge_file.read(columns, text=[start, end])
    node_file = None if nodes is None else open_table(nodes, "nodes")
    found = _NodeTable.read(node_file, id_column, label, split, features, encoder)
    matched = match_ids(
        found.ids,
        edge_table[start],
        edge_table[end],
        nodes_text=found.text,
        edges_text=edge_file.is_text,
    )
    notes += [*found.notes, *matched.notes]
    num_nodes = len(matched.ids)
    if num_nodes == 0:
        raise GraphError("a graph must have at least one node (got tables without rows)")
    weights = read_weights(edge_table[weight], weight) if weight else None
    data, edge_notes = _graph(matched.source, matched.target, weights, num_nodes, directed)
    notes += edge_notes
    table = pa.table({"id": matched.ids}) if found.table is None else found.table
    if encoder is None:
        encoder = FeatureEncoder.fit(table, found.features, data.edge_index)
        notes += encoder.notes
    data.x = encoder.transform(table, data.edge_index)
    called = () if classes is None else tuple(classes)
    if found.label is not None:
        data.y, called, label_notes = read_labels(
            table[found.label], found.label, classes, text=found.text
        )
        notes += label_notes
    if found.split is not None:
        notes += _set_masks(data, read_split(table[found.split], found.split))
    return TableGraph(data, matched.ids, called, encoder, tuple(notes))


@dataclass(frozen=True, eq=False)
class _NodeTable:
    """The nodes as far as they are needed, and which column is which."""

    table: pa.Table | None = None
    ids: pa.ChunkedArray | None = None
    label: str | None = None
    split: str | None = None
    features: Sequence[str] = ()
    text: bool = False
    notes: Sequence[str] = ()

    @classmethod
    def read(
        cls,
        file: OpenTable | None,
        id_column: str,
        label: str | None,
        split: str | None,
        features: Sequence[str] | None,
        encoder: FeatureEncoder | None,
    ) -> "_NodeTable":
        if file is None:
            return cls(notes=["there is no table of nodes: they were made from the edges"])
        names = file.names
        id_name, notes = find_id(names, id_column)
        label, split = (name and find_column(names, name, "nodes") for name in (label, split))
        roles = [name for name in (id_name, label, split) if name]
        if len(set(roles)) < len(roles):
            raise ConfigError(
                "id, label and split must be different columns "
                f"(got {', '.join(map(repr, roles))}); name them with id_column, label and split"
            )
        if encoder is None:
            chosen, more = find_features(names, features, roles)
            text: Sequence[str] = ()
        else:
            encoder.check_columns(names)
            chosen = [column.name for column in encoder.columns]
            more, text = [], encoder.text_columns
        table = file.read([*roles, *chosen], text=[*roles, *text])
        return cls(table, table[id_name], label, split, chosen, file.is_text, [*notes, *more])


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
