"""Graphs from NetworkX, SciPy, pandas and plain Python, and back to tables."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch
from torch import Tensor

from herofilter.data.checks import MASKS
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.label_columns import Class
from herofilter.data.tables.list_kinds import Vector, vector_column
from herofilter.data.tables.read_graph import TableGraph, read_graph
from herofilter.data.tables.read_table import read_table
from herofilter.errors import GraphError

if TYPE_CHECKING:
    import networkx
    import pandas

_SPLIT = ("train", "val", "test")


def from_pandas(
    edges: "pandas.DataFrame",
    nodes: "pandas.DataFrame | None" = None,
    label: str | None = None,
    *,
    id_column: str = "id",
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    split: str | None = None,
    features: Sequence[str] | None = None,
    directed: bool = True,
) -> TableGraph:
    """Return the graph of two data frames; see :func:`~herofilter.read_graph`.

    An index with a name counts as a column.
    """
    return read_graph(
        read_table(edges, "edges"),
        None if nodes is None else read_table(nodes, "nodes"),
        label,
        id_column=id_column,
        source=source,
        target=target,
        weight=weight,
        split=split,
        features=features,
        directed=directed,
    )


def from_edge_list(
    pairs: Iterable[Sequence[Any]],
    labels: Mapping[Any, Class] | None = None,
    *,
    directed: bool = True,
) -> TableGraph:
    """Return the graph of pairs of ids, or of triples with a weight.

    ``labels`` gives some ids a class; nodes without edges may be among them.

    Example:
        >>> graph = from_edge_list([("a", "b"), ("b", "c")], {"a": 0, "c": 1})
        >>> graph.ids.to_pylist(), graph.data.y.tolist()
        (['a', 'b', 'c'], [0, -1, 1])
    """
    rows = [tuple(pair) for pair in pairs]
    widths = {len(row) for row in rows}
    if not widths <= {2} and not widths <= {3}:
        raise GraphError(
            "every edge must be a pair of ids, or every edge a triple with a weight "
            f"(got edges of {', '.join(map(str, sorted(widths)))} parts)"
        )
    weighted = widths == {3}
    ends = itertools.chain.from_iterable(row[:2] for row in rows)
    known = list(dict.fromkeys([*ends, *(labels or ())]))
    ids, note = _ids(known)
    edges = _edges(known, ids, rows, [row[2] for row in rows] if weighted else None)
    nodes = {"id": ids}
    if labels is not None:
        nodes["label"] = _column([labels.get(name) for name in known], "labels")
    label = None if labels is None else "label"
    weight = "weight" if weighted else None
    graph = read_graph(edges, pa.table(nodes), label, weight=weight, directed=directed)
    return _with_notes(graph, note)


def from_networkx(
    graph: "networkx.Graph",
    label: str | None = None,
    features: Sequence[str] | None = None,
    *,
    weight: str | None = "weight",
) -> TableGraph:
    """Return a NetworkX graph; node attributes are columns, by default all of them features.

    Edges run one way in a directed graph only. Those without the attribute ``weight`` weigh 1.

    Example:
        >>> import networkx
        >>> club = networkx.karate_club_graph()
        >>> from_networkx(club, label="club").classes
        ('Mr. Hi', 'Officer')
    """
    known = list(graph.nodes)
    ids, note = _ids(known)
    attributes = list(dict.fromkeys(key for _, row in graph.nodes(data=True) for key in row))
    id_column = next(name for name in ("id", "node", "node id") if name not in attributes)
    columns, notes = {id_column: ids}, [*note]
    for name in attributes:
        try:
            values = [row.get(name) for _, row in graph.nodes(data=True)]
            columns[str(name)] = _column(values, str(name))
        except GraphError:
            notes.append(f"attribute {name!r} was left out: its values are of mixed kinds")
    rows = list(graph.edges(data=True))
    weighted = weight is not None and any(weight in row[2] for row in rows)
    weights = [row[2].get(weight, 1.0) for row in rows] if weighted else None
    found = read_graph(
        _edges(known, ids, rows, weights),
        pa.table(columns),
        label,
        id_column=id_column,
        weight="weight" if weighted else None,
        features=features,
        directed=graph.is_directed(),
    )
    return _with_notes(found, notes)


def from_scipy(
    adjacency: Any, x: Any = None, y: Sequence[Class | None] | np.ndarray | None = None
) -> TableGraph:
    """Return the graph of an adjacency matrix; an entry in row i and column j is an edge i → j.

    Ids are row indices. ``x``, a dense or sparse matrix, becomes the features as it is; in ``y``
    None, NaN and -1 are unlabelled.

    Example:
        >>> graph = from_scipy(sp.csr_array([[0, 1], [1, 0]]), x=[[0.5], [2.0]], y=["a", "b"])
        >>> graph.data.edge_index.tolist(), graph.data.x.tolist()
        ([[0, 1], [1, 0]], [[0.5], [2.0]])
    """
    matrix = sp.coo_array(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"an adjacency matrix must be square (got shape {list(matrix.shape)})")
    num_nodes, filled = matrix.shape[0], matrix.data != 0
    values = matrix.data[filled]
    edges = {"source": matrix.row[filled], "target": matrix.col[filled]}
    weighted = bool((values != 1).any())
    if weighted:
        edges["weight"] = values
    nodes, fields = [pa.array(np.arange(num_nodes))], [pa.field("id", pa.int64())]
    encoder = None
    if x is not None:
        given = x if sp.issparse(x) else np.asarray(x)
        if given.ndim != 2:
            raise GraphError(f"x must be a matrix (got shape {list(given.shape)})")
        _check_rows("x", given.shape[0], num_nodes)
        column, field = vector_column("x", given)
        nodes.append(column)
        fields.append(field)
        encoder = FeatureEncoder((Vector("x", given.shape[1]),))
    if y is not None:
        _check_rows("y", len(y), num_nodes)
        missing = (None, -1)
        labels = _column([None if label in missing else label for label in list(y)], "labels")
        nodes.append(labels)
        fields.append(pa.field("label", labels.type))
    return read_graph(
        pa.table({name: np.ascontiguousarray(column) for name, column in edges.items()}),
        pa.table(nodes, schema=pa.schema(fields)),
        None if y is None else "label",
        weight="weight" if weighted else None,
        encoder=encoder,
    )


def to_tables(graph: TableGraph) -> tuple[pa.Table, pa.Table]:
    """Return edges (source, target, weight) and nodes (id, label, split, features) as tables.

    :func:`~herofilter.data.tables.read_graph.read_graph` reads the same graph from them: give it
    ``label="label"``, ``weight="weight"`` and ``split="split"`` where there are such columns.
    """
    data, ids = graph.data, graph.ids
    source, target = (ids.take(pa.array(ends.numpy())) for ends in data.edge_index)
    edges = {"source": source, "target": target}
    if data.get("edge_weight") is not None:
        edges["weight"] = pa.array(data.edge_weight.numpy())
    nodes, fields = [ids], [pa.field("id", ids.type)]

    def add(field: pa.Field, column: pa.Array) -> None:
        fields.append(field)
        nodes.append(column)

    if data.get("y") is not None:
        labels = _chosen(pa.array(graph.classes), data.y)
        add(pa.field("label", labels.type), labels)
    if data.get("train_mask") is not None:
        part = torch.full((len(ids),), -1)
        for i, name in enumerate(MASKS):
            part[data[name]] = i
        add(pa.field("split", pa.string()), _chosen(pa.array(_SPLIT), part))
    if graph.encoder.degrees is None and data.x is not None:
        column, field = vector_column("features", _matrix(data.x))
        add(field, column)
    return pa.table(edges), pa.table(nodes, schema=pa.schema(fields))


def _ids(known: list[Any]) -> tuple[pa.Array, list[str]]:
    """Return ids as integers or text; other kinds of names become text, with a note."""
    types = pa.types
    try:
        ids = pa.array(known)
    except (pa.ArrowException, TypeError, ValueError):
        ids = pa.nulls(len(known))
    # integral floats, as in an array of ids beside weights, become integers like those of a table
    if any(fits(ids.type) for fits in (types.is_integer, types.is_string, types.is_floating)):
        return ids, []
    note = ["nodes are neither all text nor all integers, so their ids are their text"]
    return pa.array([str(name) for name in known], pa.string()), note if known else []


def _edges(
    known: list[Any], ids: pa.Array, rows: Sequence[Sequence[Any]], weights: list[Any] | None
) -> pa.Table:
    row_of = {name: i for i, name in enumerate(known)}
    ends = [pa.array([row_of[row[side]] for row in rows], pa.int64()) for side in (0, 1)]
    edges = {"source": ids.take(ends[0]), "target": ids.take(ends[1])}
    if weights is not None:
        edges["weight"] = _column(weights, "weights", pa.float64())
    return pa.table(edges)


def _column(values: list[Any], what: str, kind: pa.DataType | None = None) -> pa.Array:
    try:
        # NaN is missing, as in pandas
        return pa.array(values, kind, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise GraphError(
            f"{what} must be of one kind (got a mix: {error}); convert them"
        ) from error


def _check_rows(name: str, got: int, num_nodes: int) -> None:
    if got != num_nodes:
        raise GraphError(f"{name} must have one row per node (got {got} for {num_nodes} nodes)")


def _matrix(x: Tensor) -> np.ndarray | sp.csr_array:
    if x.layout == torch.strided:
        dense: np.ndarray = x.numpy()
        return dense
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(x.shape))


def _chosen(values: pa.Array, indices: Tensor) -> pa.Array:
    """Return the value at each index; -1 is missing."""
    return values.take(pa.array(indices.numpy(), mask=(indices < 0).numpy()))


def _with_notes(graph: TableGraph, notes: Iterable[str]) -> TableGraph:
    return dataclasses.replace(graph, notes=(*notes, *graph.notes))
