"""Tables that come after training: a new graph, or nodes and edges that extend the known one."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.checks import MASKS
from herofilter.data.tables.arrays import feature_tensor
from herofilter.data.tables.edge_list import merged_edges, read_weights
from herofilter.data.tables.node_ids import known_rows, match_ids
from herofilter.data.tables.node_table import read_known
from herofilter.data.tables.read_graph import TableGraph, read_tables
from herofilter.data.tables.read_table import TableSource, open_table
from herofilter.data.tables.table_columns import TableColumns, find_column, find_ends, find_id
from herofilter.errors import GraphError

_TEXT = pa.large_string()
_USUAL = TableColumns()


def read_extended(
    graph: TableGraph,
    edges: TableSource | None = None,
    nodes: TableSource | None = None,
    columns: TableColumns = _USUAL,
) -> tuple[TableGraph, Tensor]:
    """Read tables that come later than a graph, and return a graph and the rows they are about.

    If every edge joins two nodes of the new table, the tables are a new graph. Otherwise
    they extend ``graph``: edges may then join new and known nodes, and a node that was known
    gets the features of its new row. Without a table of nodes the rows are all known nodes.

    Args:
        graph: the graph that a model was trained on, with its encoder.
        edges: new edges; none by default.
        nodes: new nodes, with the columns of training but the label; none by default.
        columns: what the columns of ids, of edges and of weights are called.

    Example:
        >>> people = pa.table({"id": ["ann", "bob"], "age": [31, 25]})
        >>> edges = pa.table({"source": ["ann"], "target": ["bob"]})
        >>> graph = read_tables(edges, people, TableColumns())
        >>> new = pa.table({"id": ["cy"], "age": [40]})
        >>> edges = pa.table({"source": ["cy"], "target": ["ann"]})
        >>> extended, rows = read_extended(graph, edges, new)
        >>> extended.ids.to_pylist(), rows.tolist()
        (['ann', 'bob', 'cy'], [2])
    """
    if edges is None and nodes is None:
        return graph, torch.arange(int(graph.data.num_nodes or 0))
    columns = dataclasses.replace(columns, label=None, split=None, features=None)
    ends, weights, notes = _read_edges(edges, columns)
    table, new_ids, more = _read_nodes(graph, nodes, columns)
    notes += more
    known = graph.ids.cast(_TEXT)
    if columns.drop_unknown:
        everyone = pa.concat_arrays([known, new_ids])
        _, kept, dropped = known_rows(*ends, everyone, drop_unknown=True)
        notes += dropped
        ends = (ends[0].filter(pa.array(kept)), ends[1].filter(pa.array(kept)))
        weights = None if weights is None else weights[kept]
    if edges is not None and nodes is not None and _all_known(ends, new_ids):
        alone = read_tables(edges, nodes, columns, encoder=graph.encoder, classes=graph.classes)
        alone = dataclasses.replace(alone, class_names=graph.class_names)
        return alone, torch.arange(len(alone.ids))
    added = new_ids.filter(pc.invert(pc.is_in(new_ids, value_set=known)))
    everyone = pa.concat_arrays([known, added])
    if (graph.data.get("edge_weight") is None) != (weights is None) and edges is not None:
        has = "no weights" if weights is not None else "weights"
        raise GraphError(
            f"new edges must be like those of training, which have {has}; "
            "name their column of weights, or leave it out"
        )
    data, edge_notes = _joined_edges(graph.data, everyone, ends, weights)
    rows = torch.from_numpy(pc.index_in(new_ids, value_set=everyone).to_numpy().astype(np.int64))
    data.x = _joined_features(graph, table, data, rows)
    _keep_labels(graph.data, data)
    notes += [
        f"the tables add {len(added)} nodes and {len(ends[0])} edges to the graph of training",
        *edge_notes,
    ]
    ids = _as_before(graph.ids, added)
    extended = dataclasses.replace(graph, data=data, ids=ids, notes=tuple(notes))
    return extended, rows if nodes is not None else torch.arange(len(ids))


def _read_edges(
    edges: TableSource | None, columns: TableColumns
) -> tuple[tuple[pa.ChunkedArray, pa.ChunkedArray], np.ndarray | None, list[str]]:
    if edges is None:
        none = pa.chunked_array([], _TEXT)
        return (none, none), None, []
    file = open_table(edges, "edges", columns.encoding)
    start, end, notes = find_ends(file.names, columns.source, columns.target)
    weight = columns.weight and find_column(file.names, columns.weight, "edges")
    table = file.read([start, end, *([weight] if weight else [])], text=[start, end])
    weights = read_weights(table[weight], weight) if weight else None
    return (table[start].cast(_TEXT), table[end].cast(_TEXT)), weights, notes


def _read_nodes(
    graph: TableGraph, nodes: TableSource | None, columns: TableColumns
) -> tuple[pa.Table | None, pa.Array, list[str]]:
    if nodes is None:
        return None, pa.array([], _TEXT), []
    file = open_table(nodes, "nodes", columns.encoding)
    name, notes = find_id(file.names, columns.id)
    table, more = read_known(file, graph.encoder, [name])
    # the checks of a table of nodes: none without an id, none twice
    ids = match_ids(table[name].cast(_TEXT), *[pa.chunked_array([], _TEXT)] * 2).ids
    return table, ids.cast(_TEXT), [*notes, *more]


def _all_known(ends: tuple[pa.ChunkedArray, pa.ChunkedArray], ids: pa.Array) -> bool:
    return all(bool(pc.all(pc.is_in(end, value_set=ids)).as_py() is not False) for end in ends)


def _joined_edges(
    before: Data,
    everyone: pa.Array,
    ends: tuple[pa.ChunkedArray, pa.ChunkedArray],
    weights: np.ndarray | None,
) -> tuple[Data, list[str]]:
    matched = match_ids(pa.chunked_array([everyone]), *ends)
    pairs = zip(before.edge_index.numpy(), (matched.source, matched.target), strict=True)
    start, end = (np.concatenate(pair) for pair in pairs)
    held = before.get("edge_weight")
    if held is not None:
        more = np.empty(0) if weights is None else weights
        weights = np.concatenate([held.double().numpy(), more])
    edge_index, edge_weight, _ = merged_edges(start, end, weights, len(everyone))
    data = Data(edge_index=edge_index, num_nodes=len(everyone))
    if edge_weight is not None:
        data.edge_weight = edge_weight
    return data, list(matched.notes)


def _joined_features(graph: TableGraph, table: pa.Table | None, data: Data, rows: Tensor) -> Tensor:
    """Return the features of all nodes; a row of the new table counts more than the old one."""
    n = int(data.num_nodes or 0)
    if graph.encoder.degrees is not None:
        return graph.encoder.transform(pa.table({"row": np.arange(n)}), data.edge_index)
    known: Tensor = graph.data.x
    if table is None:
        return known
    before = _matrix(known)
    new = _matrix(graph.encoder.transform(table, data.edge_index))
    # row of each node in the old features stacked above the new ones
    row_of = np.arange(n)
    row_of[rows.numpy()] = before.shape[0] + np.arange(new.shape[0])
    if sp.issparse(before):
        stacked = sp.vstack([before, sp.csr_array(new)], format="csr")
    else:
        stacked = np.concatenate([before, sp.csr_array(new).toarray()])
    return feature_tensor(stacked[row_of])


def _keep_labels(before: Data, data: Data) -> None:
    """Give known nodes their labels and parts of the split; new nodes have neither."""
    added = int(data.num_nodes or 0) - int(before.num_nodes or 0)
    for name in ("y", *MASKS):
        values = before.get(name)
        if values is not None:
            data[name] = torch.cat([values, values.new_full((added,), -1 if name == "y" else 0)])


def _matrix(x: Tensor) -> np.ndarray | sp.csr_array:
    if x.layout != torch.sparse_csr:
        dense: np.ndarray = x.numpy()
        return dense
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(x.shape))


def _as_before(ids: pa.Array, added: pa.Array) -> pa.Array:
    try:
        return pa.concat_arrays([ids, added.cast(ids.type)])
    except pa.ArrowInvalid:
        return pa.concat_arrays([ids.cast(_TEXT), added])
