"""Tables that come later: a new graph, or an extension of a known one."""

import pyarrow as pa
import pytest
import torch

from herofilter.data import read_graph
from herofilter.data.tables.extend_graph import read_extended
from herofilter.data.tables.table_columns import TableColumns
from herofilter.errors import GraphError


def edges(*pairs: tuple[object, object]) -> pa.Table:
    return pa.table({"source": [a for a, _ in pairs], "target": [b for _, b in pairs]})


def people(*rows: tuple[object, float]) -> pa.Table:
    return pa.table({"id": [name for name, _ in rows], "age": [age for _, age in rows]})


KNOWN = read_graph(edges(("a", "b"), ("b", "c")), people(("a", 1.0), ("b", 2.0), ("c", 3.0)))


def test_without_tables_it_is_the_known_graph() -> None:
    extended, rows = read_extended(KNOWN)
    assert extended is KNOWN
    assert rows.tolist() == [0, 1, 2]


def test_new_nodes_join_known_ones() -> None:
    extended, rows = read_extended(KNOWN, edges(("d", "a"), ("a", "b")), people(("d", 2.0)))
    assert extended.ids.to_pylist() == ["a", "b", "c", "d"]
    assert rows.tolist() == [3]
    # the edge from a to b was there before
    assert extended.data.edge_index.t().tolist() == [[0, 1], [1, 2], [3, 0]]
    torch.testing.assert_close(extended.data.x[:3], KNOWN.data.x)
    torch.testing.assert_close(extended.data.x[3], KNOWN.data.x[1])


def test_a_known_node_gets_its_new_features() -> None:
    extended, rows = read_extended(KNOWN, edges(("d", "a")), people(("b", 3.0), ("d", 1.0)))
    assert rows.tolist() == [1, 3]
    torch.testing.assert_close(extended.data.x[1], KNOWN.data.x[2])
    torch.testing.assert_close(extended.data.x[3], KNOWN.data.x[0])


def test_tables_that_need_nobody_else_are_a_graph_of_their_own() -> None:
    extended, rows = read_extended(KNOWN, edges(("x", "y")), people(("x", 1.0), ("y", 3.0)))
    assert extended.ids.to_pylist() == ["x", "y"]
    assert rows.tolist() == [0, 1]
    # scaled as in training, not by itself
    torch.testing.assert_close(extended.data.x[:, 0], KNOWN.data.x[[0, 2], 0])


def test_new_edges_alone_and_new_nodes_alone() -> None:
    extended, rows = read_extended(KNOWN, edges(("c", "a")))
    assert rows.tolist() == [0, 1, 2]
    assert extended.data.edge_index.t().tolist() == [[0, 1], [1, 2], [2, 0]]
    extended, rows = read_extended(KNOWN, nodes=people(("d", 2.0)))
    assert rows.tolist() == [3]
    assert torch.equal(extended.data.edge_index, KNOWN.data.edge_index)


def test_numbers_stay_numbers() -> None:
    known = read_graph(edges((1, 2)), people((1, 1.0), (2, 2.0)))
    extended, _ = read_extended(known, edges((3, 1)), people((3, 1.5)))
    assert extended.ids.to_pylist() == [1, 2, 3]


def test_labels_and_masks_of_known_nodes_are_kept() -> None:
    table = people(("a", 1.0), ("b", 2.0)).append_column("topic", pa.array(["x", "y"]))
    table = table.append_column("part", pa.array(["train", "test"]))
    known = read_graph(edges(("a", "b")), table, "topic", split="part")
    extended, _ = read_extended(known, edges(("d", "a")), people(("d", 1.5)))
    assert extended.data.y.tolist() == [0, 1, -1]
    assert extended.data.train_mask.tolist() == [True, False, False]
    assert extended.classes == ("x", "y")


def test_degrees_are_counted_in_the_extended_graph() -> None:
    known = read_graph(edges(("a", "b"), ("b", "c")))
    extended, _ = read_extended(known, edges(("c", "a")))
    # a ring: every node has one edge out and one in
    assert extended.data.x[0].tolist() == extended.data.x[1].tolist() == extended.data.x[2].tolist()


def test_a_stranger_in_the_edges_is_refused() -> None:
    with pytest.raises(GraphError, match="every id in the edges must have a row in the nodes"):
        read_extended(KNOWN, edges(("zoe", "a")), people(("d", 1.0)))


def test_strangers_can_be_dropped() -> None:
    drop = TableColumns(drop_unknown=True)
    new = edges(("zoe", "a"), ("d", "a"), ("d", "kim"))
    extended, rows = read_extended(KNOWN, new, people(("d", 1.0)), drop)
    assert rows.tolist() == [3]
    assert extended.data.edge_index.t().tolist() == [[0, 1], [1, 2], [3, 0]]
    assert extended.notes == (
        "2 of 3 edges join ids without a row in the nodes, such as 'zoe', and were dropped",
        "the tables add 1 nodes and 1 edges to the graph of training",
    )
    # without the stranger the tables are a graph of their own
    alone, _ = read_extended(
        KNOWN, edges(("x", "y"), ("x", "kim")), people(("x", 1.0), ("y", 3.0)), drop
    )
    assert alone.ids.to_pylist() == ["x", "y"]
    assert alone.notes == (
        "1 of 2 edges joins an id without a row in the nodes, such as 'kim', and was dropped",
    )


def test_weights_must_be_there_or_not_as_in_training() -> None:
    weighted = edges(("d", "a")).append_column("w", pa.array([2.0]))
    with pytest.raises(GraphError, match="must be like those of training, which have no weights"):
        read_extended(KNOWN, weighted, people(("d", 1.0)), TableColumns(weight="w"))
