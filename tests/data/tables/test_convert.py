from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch

from herofilter.data import (
    TableGraph,
    from_edge_list,
    from_networkx,
    from_pandas,
    from_scipy,
    read_graph,
    to_tables,
)
from herofilter.errors import GraphError


def assert_same(first: TableGraph, second: TableGraph) -> None:
    assert first.ids.equals(second.ids)
    assert first.classes == second.classes
    assert first.data.keys() == second.data.keys()
    for name, value in first.data.to_dict().items():
        if isinstance(value, torch.Tensor):
            assert value.layout == second.data[name].layout, name
            assert torch.equal(value.to_dense(), second.data[name].to_dense()), name


def test_networkx() -> None:
    graph = nx.DiGraph()
    graph.add_node("b", age=30, team="x", tags=["p", "q"])
    graph.add_node("a", age=40, team="y")
    graph.add_node("lone", age=20)
    graph.add_edge("a", "b", weight=2.5)
    graph.add_edge("b", "b")
    found = from_networkx(graph, label="team")
    assert found.ids.to_pylist() == ["b", "a", "lone"]
    assert found.data.y.tolist() == [0, 1, -1]
    assert found.data.edge_index.tolist() == [[0, 1], [0, 0]]
    assert found.data.edge_weight.tolist() == [1.0, 2.5]
    assert found.encoder.names == ("age", "tags has p", "tags has q")
    bare = from_networkx(graph, features=[], weight=None)
    assert bare.encoder.degrees is not None
    assert "edge_weight" not in bare.data


def test_undirected_networkx_runs_both_ways() -> None:
    found = from_networkx(nx.path_graph(3))
    assert found.ids.to_pylist() == [0, 1, 2]
    assert found.data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    # parallel edges are merged like repeated rows of a table
    twice = from_networkx(nx.MultiGraph([(0, 1), (0, 1)]))
    assert twice.data.edge_index.tolist() == [[0, 1], [1, 0]]


def test_networkx_with_names_that_are_no_ids() -> None:
    found = from_networkx(nx.grid_2d_graph(2, 2))
    assert found.ids.to_pylist() == ["(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)"]
    assert found.notes[0] == (
        "nodes are neither all text nor all integers, so their ids are their text"
    )
    mixed = from_networkx(nx.Graph([(1, "a")]))
    assert mixed.ids.to_pylist() == ["1", "a"]
    assert from_networkx(nx.empty_graph(2)).data.edge_index.shape == (2, 0)


def test_networkx_with_awkward_attributes() -> None:
    graph = nx.Graph([("a", "b")])
    nx.set_node_attributes(graph, {"a": {"id": 1, "bad": 1}, "b": {"id": 2, "bad": "x"}})
    found = from_networkx(graph)
    assert found.ids.to_pylist() == ["a", "b"]
    assert found.encoder.names == ("id",)
    assert found.notes == ("attribute 'bad' was left out: its values are of mixed kinds",)


def test_edge_list() -> None:
    found = from_edge_list([("a", "b"), ("c", "a")], directed=False)
    assert found.ids.to_pylist() == ["a", "b", "c"]
    assert found.data.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    found = from_edge_list(np.array([[5, 6], [6, 5]]), {6: "x", 7: "y"})
    assert found.ids.to_pylist() == [5, 6, 7]
    assert found.data.y.tolist() == [-1, 0, 1]
    assert from_edge_list([(1, 2, 0.5), (1, 2, 1)]).data.edge_weight.tolist() == [1.5]
    # an array holds one type only, so ids beside weights are floats
    found = from_edge_list(np.array([[5, 6, 0.5]]))
    assert found.ids.to_pylist() == [5, 6]
    with pytest.raises(GraphError, match=r"labels must be of one kind \(got a mix: "):
        from_edge_list([(1, 2)], {1: "x", 2: 3})
    with pytest.raises(GraphError, match=r"weights must be of one kind \(got a mix: "):
        from_edge_list([(1, 2, "far")])
    with pytest.raises(GraphError) as caught:
        from_edge_list([(1, 2), (1, 2, 3)])
    assert str(caught.value) == (
        "every edge must be a pair of ids, or every edge a triple with a weight "
        "(got edges of 2, 3 parts)"
    )


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    edges = pd.DataFrame({"who": ["a"], "whom": ["b"], "km": [3]})
    nodes = pd.DataFrame({"team": ["x", "y"], "age": [1.0, 3.0]}, index=["a", "b"])
    nodes.index.name = "person"
    found = from_pandas(
        edges, nodes, "team", id_column="person", source="who", target="whom", weight="km"
    )
    assert found.ids.to_pylist() == ["a", "b"]
    assert found.data.edge_weight.tolist() == [3.0]
    assert found.data.x.tolist() == [[-1.0], [1.0]]
    assert found.notes == ()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_array])
def test_scipy(form: type) -> None:
    x = np.array([[0.0, 1.5, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    found = from_scipy(form([[0, 2, 0], [0, 0, 1], [0, 0, 0]]), x=form(x), y=[1, -1, 0])
    assert found.ids.to_pylist() == [0, 1, 2]
    assert found.data.edge_index.tolist() == [[0, 1], [1, 2]]
    assert found.data.edge_weight.tolist() == [2.0, 1.0]
    assert torch.equal(found.data.x.to_dense(), torch.from_numpy(x).float())
    assert found.data.y.tolist() == [1, -1, 0]
    assert found.notes == ("1 of 3 nodes have no label",)


def test_scipy_without_more() -> None:
    found = from_scipy(sp.eye_array(3))
    assert "edge_weight" not in found.data
    assert found.data.y is None
    assert found.encoder.degrees is not None
    for wrong, text in (
        ({"x": [[1.0]]}, "x must have one row per node (got 1 for 3 nodes)"),
        ({"x": [1.0, 2.0, 3.0]}, "x must be a matrix (got shape [3])"),
        ({"y": [0, 1]}, "y must have one row per node (got 2 for 3 nodes)"),
    ):
        with pytest.raises(GraphError) as caught:
            from_scipy(sp.eye_array(3), **wrong)
        assert str(caught.value) == text
    with pytest.raises(GraphError, match=r"must be square \(got shape \[1, 2\]\)"):
        from_scipy([[0, 1]])


def test_wide_features_stay_sparse() -> None:
    x = sp.random_array((50, 100_000), density=1e-4, format="csr", rng=0, dtype=np.float32)
    found = from_scipy(sp.eye_array(50), x=x)
    assert found.data.x.layout == torch.sparse_csr
    assert found.data.x.shape == (50, 100_000)
    assert found.data.x.values().numel() == x.nnz


@pytest.mark.parametrize("wide", [False, True])
def test_round_trip(tmp_path: Path, wide: bool) -> None:
    nodes = {
        "id": ["007", "b c", "ß"],
        "age": [1.0, 2.0, 4.0],
        "team": ["x", None, "y"],
        "part": ["train", None, "test"],
    }
    if wide:
        nodes["tags"] = [[f"{name}{i}" for i in range(9)] for name in "abc"]
    edges = pa.table({"source": ["007", "ß"], "target": ["b c", "ß"], "w": [0.5, 2.0]})
    found = read_graph(edges, pa.table(nodes), "team", weight="w", split="part")
    for name, table in zip(("edges", "nodes"), to_tables(found), strict=True):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    again = read_graph(
        tmp_path / "edges.parquet",
        tmp_path / "nodes.parquet",
        "label",
        weight="weight",
        split="split",
    )
    assert_same(found, again)


def test_round_trip_keeps_empty_features_and_big_ids() -> None:
    x = sp.csr_array(([1.0], ([0], [1])), shape=(2, 6))
    found = from_scipy(sp.csr_array([[0, 1], [0, 0]]), x=x, y=[True, False])
    assert_same(found, read_graph(*to_tables(found), "label"))
    bare = from_edge_list([(2**60, 2**60 + 1)])
    assert_same(bare, read_graph(*to_tables(bare)))
