from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from herofilter.data import FeatureEncoder, TableGraph, check_graph, read_graph
from herofilter.data.tables.extend_graph import read_extended
from herofilter.errors import ConfigError, DatasetError, GraphError, HeroFilterError

EDGES = pa.table({"source": ["a", "b", "c"], "target": ["b", "c", "a"]})
NODES = pa.table({"id": ["a", "b", "c"], "age": [31, 25, 40], "team": ["x", "y", "x"]})


def csv(folder: Path, edges: str, nodes: str | None = None, **settings: Any) -> TableGraph:
    (folder / "edges.csv").write_text(edges)
    if nodes is None:
        return read_graph(folder / "edges.csv", **settings)
    (folder / "nodes.csv").write_text(nodes)
    return read_graph(folder / "edges.csv", folder / "nodes.csv", **settings)


def refusal(kind: type[HeroFilterError], *args: Any, **settings: Any) -> str:
    with pytest.raises(kind) as caught:
        read_graph(*args, **settings)
    return str(caught.value)


def with_nodes(**columns: Any) -> pa.Table:
    return pa.table({"id": ["a", "b", "c"], **columns})


def with_ids(*ids: Any, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"id": pa.array(ids, kind)})


def test_edges_and_nodes(tmp_path: Path) -> None:
    graph = csv(
        tmp_path,
        "source,target,km\r\nb,a,2.5\r\nc,b,1\r\nb,a,0.5\r\nc,c,4\r\n",
        "\ufeffid,age,country,team,part\r\na,20,DE,red,train\r\nb,40,FR,,test\r\n"
        "c,NA,DE,blue,VALID\r\nd,30,FR,red,\r\n",
        label="team",
        weight="km",
        split="part",
    )
    data = graph.data
    assert graph.ids.to_pylist() == ["a", "b", "c", "d"]
    assert data.num_nodes == 4
    assert data.edge_index.tolist() == [[1, 2, 2], [0, 1, 2]]
    assert data.edge_weight.tolist() == [3.0, 1.0, 4.0]
    assert graph.classes == ("blue", "red")
    assert data.y.tolist() == [1, -1, 0, 1]
    assert data.y.dtype == torch.int64
    assert graph.encoder.names == ("age", "age is missing", "country=DE", "country=FR")
    assert data.x.shape == (4, 4)
    assert data.train_mask.tolist() == [True, False, False, False]
    assert data.val_mask.tolist() == [False, False, True, False]
    assert data.test_mask.tolist() == [False] * 4
    assert graph.notes == (
        "repeated edges were merged and their weights added: 1 rows of 4",
        "edges from a node to itself were kept: 1",
        "1 of 4 nodes have no label",
        "1 nodes of the split have no label and aren't in it",
    )
    check_graph(data)


def test_edges_alone() -> None:
    graph = read_graph(EDGES)
    assert graph.ids.to_pylist() == ["a", "b", "c"]
    assert graph.classes == ()
    assert graph.data.y is None
    assert graph.encoder.names == ("log out-degree", "log in-degree")
    assert graph.notes[0] == "there is no table of nodes: they were made from the edges"


def test_edges_both_ways() -> None:
    graph = read_graph(EDGES.append_column("w", [[1.0, 2.0, 3.0]]), weight="w", directed=False)
    assert graph.data.edge_index.tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    assert graph.data.edge_weight.tolist() == [1, 3, 1, 2, 3, 2]


def test_no_edges_at_all(tmp_path: Path) -> None:
    graph = csv(tmp_path, "source,target\n", "id,x\n1,2\n3,4\n")
    assert graph.data.edge_index.shape == (2, 0)
    assert graph.ids.type == pa.int64()
    assert graph.notes == (
        "the edges have no rows, so every node stands alone; if that isn't meant, "
        "check the file of edges",
    )
    assert refusal(GraphError, tmp_path / "edges.csv") == (
        "a graph must have at least one node (got tables without rows); check the files"
    )


def test_nodes_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    for end in ("", "\n"):
        path.write_text(f"id,age{end}")
        assert refusal(DatasetError, EDGES, path) == (
            f"the nodes must have at least one row (got {path}, column names only); add rows"
        )
    assert refusal(DatasetError, EDGES, NODES[:0], encoder=FeatureEncoder(())) == (
        "the nodes must have at least one row (got column names only); add rows"
    )


@pytest.mark.parametrize(
    ("name", "option"), [("weight", "weight"), ("Edge Weight", "'Edge Weight'")]
)
def test_weights_that_arent_used(name: str, option: str) -> None:
    edges = EDGES.append_column(name, [[1.0, 2.0, 3.0]])
    found = read_graph(edges, NODES)
    assert found.notes == (f"column {name!r} of the edges isn't used; --weight {option} uses it",)
    assert read_graph(edges, NODES, weight=name).notes == ()
    # training decided it
    assert read_graph(edges, NODES, encoder=found.encoder).notes == ()


# ids


def test_leading_zeros_survive(tmp_path: Path) -> None:
    graph = csv(tmp_path, "source,target\n007,42\n", "id,x\n007,1\n42,2\n7,3\n")
    assert graph.ids.to_pylist() == ["007", "42", "7"]
    assert graph.data.edge_index.tolist() == [[0], [1]]
    assert graph.position("007") == 0
    assert graph.position(7) == 2


def test_plain_numbers_in_one_file_only_stay_text(tmp_path: Path) -> None:
    graph = csv(tmp_path, "source,target\n7,8\n", "id\n7\n8\n09\n")
    assert graph.ids.to_pylist() == ["7", "8", "09"]
    assert not any("compared as text" in note for note in graph.notes)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["7", "-42", "0"], pa.int64()),
        (["9007199254740993", "9007199254740992"], pa.int64()),
        (["18446744073709551615", "1"], pa.uint64()),
        (["184467440737095516150", "1"], pa.string()),
        (["-0", "0"], pa.string()),
        (["1.0", "2"], pa.string()),
        (["New York", "São Paulo"], pa.string()),
    ],
)
def test_ids_of_text_files(tmp_path: Path, ids: list[str], kind: pa.DataType) -> None:
    graph = csv(tmp_path, f"source,target\n{ids[1]},{ids[0]}\n", "id\n" + "\n".join(ids) + "\n")
    assert graph.ids.type == kind
    assert graph.ids.cast(pa.string()).to_pylist() == ids
    assert graph.data.edge_index.tolist() == [[1], [0]]
    assert [graph.position(name) for name in ids] == list(range(len(ids)))


def test_quoted_ids_with_commas(tmp_path: Path) -> None:
    graph = csv(tmp_path, 'source,target\n"a, b",c\n', 'id\n"a, b"\nc\n')
    assert graph.ids.to_pylist() == ["a, b", "c"]


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (pa.array(["7", "8"]), pa.array([8, 7])),
        (pa.array([7, 8]), pa.array(["8", "7"])),
    ],
)
def test_numbers_and_text_are_compared_as_text(nodes: pa.Array, edges: pa.Array) -> None:
    graph = read_graph(
        pa.table({"source": edges[:1], "target": edges[1:]}), pa.table({"id": nodes})
    )
    assert graph.ids.equals(nodes)
    assert graph.data.edge_index.tolist() == [[1], [0]]
    assert graph.notes[0] == (
        "ids are numbers in one column and text in another, so they were compared as text"
    )


def test_integers_of_different_widths() -> None:
    large = 2**64 - 1
    nodes = with_ids(large, 5, kind=pa.uint64())
    edges = pa.table(
        {"source": pa.array([5], pa.int32()), "target": pa.array([large], pa.uint64())}
    )
    graph = read_graph(edges, nodes)
    assert graph.ids.type == pa.uint64()
    assert graph.data.edge_index.tolist() == [[1], [0]]
    assert graph.notes[:-1] == ()


def test_text_file_beside_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": [8], "target": [7]}), tmp_path / "edges.parquet")
    (tmp_path / "nodes.csv").write_text("id\n7\n8\n")
    graph = read_graph(tmp_path / "edges.parquet", tmp_path / "nodes.csv")
    assert graph.ids.to_pylist() == [7, 8]
    assert graph.data.edge_index.tolist() == [[1], [0]]


def test_ids_of_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    edges = pd.DataFrame({"source": [1.0, 2.0], "target": [2.0, 3.0]})
    nodes = pd.DataFrame({"x": [1, 2, 4]}, index=pd.Index([1, 2, 3], name="id"))
    graph = read_graph(edges, nodes)
    assert graph.ids.to_pylist() == [1, 2, 3]
    assert graph.data.edge_index.tolist() == [[0, 1], [1, 2]]
    graph = read_graph(edges.astype("category"), nodes)
    assert graph.data.edge_index.tolist() == [[0, 1], [1, 2]]


def test_strange_ids() -> None:
    assert "got 1.5 in the nodes" in refusal(GraphError, EDGES, with_ids(1.5))
    assert "got list<item: int64> in the nodes" in refusal(GraphError, EDGES, with_ids([1]))


def test_duplicate_ids() -> None:
    assert refusal(GraphError, EDGES, with_ids("a", "b", "b", "c", "b")) == (
        "every node must have an id of its own (got 5 rows with 3 different ids; "
        "'b' occurs 3 times); keep one row per node"
    )


@pytest.mark.parametrize("gap", [None, ""])
def test_missing_ids(gap: str | None) -> None:
    text = (
        "must have an id (got 1 without one); fill them in or drop those rows; "
        "in text files NA, null and the like are missing"
    )
    assert refusal(GraphError, EDGES, with_ids("a", gap)) == f"every row of the nodes {text}"
    edges = pa.table({"source": ["a", gap], "target": ["a", "a"]})
    assert refusal(GraphError, edges, NODES) == f"every row of the edges {text}"


def test_edges_to_nodes_without_a_row() -> None:
    edges = pa.table({"source": ["a", "x", "y", "x"], "target": ["b"] * 4})
    assert refusal(GraphError, edges, NODES) == (
        "every id in the edges must have a row in the nodes (got 2 without one, such as 'x'; "
        "the first node is 'a'); add the rows, drop the edges with --drop-unknown, or give no "
        "nodes at all to have them made from edges"
    )


def test_edges_to_unknown_ids_can_be_dropped() -> None:
    edges = pa.table({"source": ["a", "x", "y", "c"], "target": ["b", "b", "x", "a"]})
    edges = edges.append_column("km", [[1.0, 2.0, 3.0, 4.0]])
    graph = read_graph(edges, NODES, weight="km", drop_unknown=True)
    assert graph.data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert graph.data.edge_weight.tolist() == [1.0, 4.0]
    assert graph.notes == (
        "2 of 4 edges join ids without a row in the nodes, such as 'x', and were dropped",
    )
    one = read_graph(edges[:2], NODES, drop_unknown=True)
    assert one.notes == (
        "1 of 2 edges joins an id without a row in the nodes, such as 'x', and was dropped",
    )
    # ids that never match are no strangers but another spelling
    assert refusal(GraphError, edges[1:3], NODES, drop_unknown=True) == (
        "every id in the edges must have a row in the nodes (got 2 without one, such as 'x'; "
        "the first node is 'a'); spell ids alike in both tables, or give no nodes at all to have "
        "them made from edges"
    )


def test_position() -> None:
    graph = read_graph(pa.table({"source": [41], "target": [42]}))
    assert graph.position(42) == graph.position("42") == 1
    with pytest.raises(GraphError) as caught:
        graph.position("43")
    assert str(caught.value) == (
        "a node must be called by an id of the graph (got '43') (did you mean '42'?)"
    )
    with pytest.raises(GraphError, match=r"\(got 'zebra'\); the first is '41'"):
        graph.position("zebra")


# columns


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        (["from", "to"], ["from", "to"]),
        (["SRC", "Dst "], ["SRC", "Dst "]),
        (["kind", "to", "from"], ["from", "to"]),
        (["who", "whom", "when"], ["who", "whom"]),
        (["", "who", "whom"], ["who", "whom"]),
    ],
)
def test_usual_names_of_ends(names: list[str], taken: list[str]) -> None:
    columns = [["a"], ["b"], ["c"]][: len(names)]
    graph = read_graph(pa.table(columns, names=names))
    by_name = dict(zip(names, "abc", strict=False))
    assert graph.ids.to_pylist() == [by_name[name] for name in taken]
    assert graph.notes[:2] == (
        f"column {taken[0]!r} was taken for source",
        f"column {taken[1]!r} was taken for target",
    )


def test_usual_names_of_ids() -> None:
    nodes = NODES.rename_columns(["Node_ID", "age", "team"])
    assert read_graph(EDGES, nodes).notes == ("column 'Node_ID' was taken for id",)
    only = pa.table({"people": ["a", "b", "c"]})
    assert read_graph(EDGES, only).notes[0] == "column 'people' was taken for id"


def test_named_columns() -> None:
    edges = EDGES.rename_columns(["p", "q"])
    graph = read_graph(edges, NODES, id_column="id", source="q", target="p")
    assert graph.data.edge_index.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert graph.notes == ()


def test_columns_that_arent_there() -> None:
    assert refusal(DatasetError, EDGES, NODES, "teem") == (
        "the nodes must have a column 'teem' (got 'id', 'age', 'team') (did you mean 'team'?)"
    )
    assert refusal(DatasetError, EDGES, source="sauce").startswith(
        "the edges must have a column 'sauce' (got 'source', 'target')"
    )
    assert refusal(DatasetError, EDGES.rename_columns(["source", "q"])) == (
        "the edges must have a column 'target' (got 'source', 'q'); "
        "name the column of ids with --target"
    )
    assert refusal(DatasetError, EDGES.select(["source"])) == (
        "the edges must have two columns of node ids (got 'source'); one edge is one row"
    )
    assert refusal(DatasetError, EDGES, NODES.drop_columns("id")) == (
        "the nodes must have a column 'id' (got 'age', 'team'); name the column of ids with --id"
    )
    assert refusal(DatasetError, EDGES, NODES.rename_columns(["person", "joined", "team"])) == (
        "the nodes must have a column 'id' (got 'person', 'joined', 'team'); "
        "name the column of ids with --id"
    )
    assert refusal(DatasetError, EDGES, NODES, id_column="tem") == (
        "the nodes must have a column 'tem' (got 'id', 'age', 'team') (did you mean 'team'?); "
        "name the column of ids with --id"
    )
    assert "got 'source' for both" in refusal(DatasetError, EDGES, target="source")


def test_chosen_features() -> None:
    assert read_graph(EDGES, NODES, features=["team"]).encoder.names == ("team=x", "team=y")
    assert read_graph(EDGES, NODES, features=[]).encoder.degrees is not None
    assert refusal(DatasetError, EDGES, NODES, "team", features=["age", "team"]) == (
        "features must not be the id, the label or the split (got 'team'); leave it out"
    )


def test_row_numbers_are_no_features(tmp_path: Path) -> None:
    graph = csv(tmp_path, "source,target\na,b\n", ",id,x\n0,a,3\n1,b,5\n")
    assert graph.encoder.names == ("x",)
    assert graph.notes == ("column '' was left out: it is a row number",)


def test_settings_that_clash() -> None:
    assert refusal(ConfigError, EDGES, label="team") == (
        "label, split and features are columns of the nodes (got no nodes); give their table"
    )
    assert refusal(ConfigError, EDGES, NODES, "team", split="team").startswith(
        "id, label and split must be different columns (got 'id', 'team', 'team')"
    )
    encoder = FeatureEncoder(())
    assert "give one of the two" in refusal(
        ConfigError, EDGES, NODES, features=["age"], encoder=encoder
    )


# labels and splits


@pytest.mark.parametrize(
    ("column", "classes", "y"),
    [
        (["y", None, "x"], ("x", "y"), [1, -1, 0]),
        (["y", "", "x"], ("x", "y"), [1, -1, 0]),
        ([10, None, 9], (9, 10), [1, -1, 0]),
        ([1.0, float("nan"), 0.0], (0, 1), [1, -1, 0]),
        ([True, None, False], (False, True), [1, -1, 0]),
        (pa.array(["y", None, "x"]).dictionary_encode(), ("x", "y"), [1, -1, 0]),
        (["10", "9", None], ("10", "9"), [0, 1, -1]),
    ],
)
def test_labels(column: Any, classes: tuple[Any, ...], y: list[int]) -> None:
    graph = read_graph(EDGES, with_nodes(label=column), "label")
    assert graph.classes == classes
    assert [type(name) for name in graph.classes] == [type(name) for name in classes]
    assert graph.data.y.tolist() == y


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["10", "9", "NA"], (9, 10)),
        (["1.0", "0.0", ""], (0, 1)),
        (["True", "FALSE", "null"], (False, True)),
        (["01", "2", ""], ("01", "2")),
        (["none", "mild ", " mild"], ("mild", "none")),
    ],
)
def test_labels_of_text_files(tmp_path: Path, values: list[str], classes: tuple[Any, ...]) -> None:
    rows = "".join(f"{name},{value}\n" for name, value in zip("abc", values, strict=True))
    graph = csv(tmp_path, "source,target\na,b\n", f"id,label\n{rows}", label="label")
    assert graph.classes == classes
    assert [type(name) for name in graph.classes] == [type(name) for name in classes]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["10", "9", "NA"], ()),
        (["true", "false", ""], ()),
        (["no", "yes", ""], ()),
        (["1.0", "0.0", ""], ("0.0", "1.0")),
        (["True", "FALSE", "true", "True"], ("FALSE", "True")),
    ],
)
def test_classes_as_the_table_spells_them(
    tmp_path: Path, values: list[str], names: tuple[str, ...]
) -> None:
    rows = "".join(f"{name},{value}\n" for name, value in zip("abcd", values, strict=False))
    graph = csv(tmp_path, "source,target\na,b\n", f"id,label\n{rows}", label="label")
    assert graph.class_names == names
    assert graph.shown_classes == (names or graph.classes)
    extended, _ = read_extended(graph, nodes=pa.table({"id": ["z"]}))
    assert extended.class_names == names


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ([0.5, 1.0, 2.0], "fractions such as 0.5"),
        ([1e30, 1.0, 2.0], "numbers beyond 64 bits"),
    ],
)
def test_regression_is_refused(column: list[float], got: str) -> None:
    assert refusal(GraphError, EDGES, with_nodes(price=column), "price") == (
        f"the label 'price' must hold classes (got {got}): regression isn't supported; "
        "cut the numbers into classes first, for instance with pandas.cut"
    )


def test_too_many_numbers_are_a_regression() -> None:
    ids = np.arange(1001)
    nodes = pa.table({"id": ids, "price": ids})
    edges = pa.table({"source": [0], "target": [1]})
    assert "got 1001 different numbers" in refusal(GraphError, edges, nodes, "price")
    assert len(read_graph(edges, nodes[:1000], "price").classes) == 1000


def test_labels_that_cant_be_learned() -> None:
    nodes = with_nodes(many=[["x"], ["y"], ["x", "y"]], one=["x", "x", None], none=pa.nulls(3))
    assert refusal(GraphError, EDGES, nodes, "many") == (
        "the label 'many' must hold one class per node (got list<item: string>): multi-label "
        "targets aren't supported; make one column per label and train on each"
    )
    assert refusal(GraphError, EDGES, nodes, "one") == (
        "the label 'one' must have at least two classes (got only 'x'); "
        "there is nothing to tell apart"
    )
    assert "(got no label at all)" in refusal(GraphError, EDGES, nodes, "none")


def test_other_words_in_a_split() -> None:
    nodes = with_nodes(part=["train", "holdout", None])
    assert refusal(GraphError, EDGES, nodes, split="part") == (
        "the split column 'part' must hold train, val or test, or nothing for unused nodes "
        "(got 'holdout')"
    )


@pytest.mark.parametrize("weight", [None, -1.0, float("inf"), float("nan")])
def test_weights_that_arent(weight: float | None) -> None:
    edges = EDGES.append_column("w", [[1.0, weight, 2.0]])
    assert refusal(GraphError, edges, weight="w").startswith(
        "the weight 'w' must be finite and not negative for every edge (got 1 that are missing"
    )
    words = EDGES.append_column("w", [["1", "x", "2"]])
    assert refusal(GraphError, words, weight="w") == (
        "the weight 'w' must hold numbers (got string)"
    )


# later tables


def test_a_later_table_is_measured_by_the_first(tmp_path: Path) -> None:
    first = csv(
        tmp_path,
        "source,target\na,b\n",
        "id,age,code,team\na,20,007,x\nb,40,7,y\nc,30,A1,x\n",
        label="team",
        features=["age", "code"],
    )
    later = csv(
        tmp_path,
        "source,target\nd,e\n",
        "id,extra,code,age,team\nd,1,007,40,y\ne,2,7,20,z\n",
        label="team",
        encoder=FeatureEncoder.from_dict(first.encoder.to_dict()),
        classes=first.classes,
    )
    assert first.encoder.names == ("age", "code=007", "code=7", "code=A1")
    # leading zeros count in a later file too, although all its codes are numbers
    assert later.data.x[:, 1:].to_dense().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert later.data.x[:, 0].tolist() == pytest.approx([1.5**0.5, -(1.5**0.5)])
    assert later.data.y.tolist() == [1, -1]
    assert later.classes == ("x", "y")
    assert later.notes == (
        "1 nodes have a label that isn't a class of the model, such as 'z'; "
        "they count as unlabelled",
    )


@pytest.mark.parametrize(
    ("classes", "column"), [((0, 1), ["1", "0", "1"]), ((False, True), [True, False, None])]
)
def test_classes_of_another_type(classes: tuple[Any, ...], column: list[Any]) -> None:
    graph = read_graph(EDGES, with_nodes(label=column), "label", classes=classes)
    assert graph.data.y.tolist()[:2] == [1, 0]
    assert graph.classes == classes


def test_a_later_table_without_labels() -> None:
    first = read_graph(EDGES, NODES, "team")
    later = read_graph(
        EDGES, NODES.drop_columns("team"), encoder=first.encoder, classes=first.classes
    )
    assert "y" not in later.data
    assert later.classes == ("x", "y")
    assert torch.equal(later.data.x, first.data.x)


def test_a_later_table_without_a_column() -> None:
    encoder = read_graph(EDGES, NODES, "team").encoder
    nodes = NODES.rename_columns(["id", "ages", "team"])
    assert refusal(DatasetError, EDGES, nodes, encoder=encoder) == (
        "the nodes must have the column 'age', which the model was trained with "
        "(got 'id', 'ages', 'team') (did you mean 'ages'?)"
    )
