import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import check_graph, to_sparse
from herofilter.errors import GraphError
from tests import awkward


def broken(**changes: object) -> Data:
    data = awkward.plain()
    for name, value in changes.items():
        data[name] = value
    return data


def message(data: Data, *, split_required: bool = False) -> str:
    with pytest.raises(GraphError) as caught:
        check_graph(data, split_required=split_required)
    return str(caught.value)


@pytest.mark.parametrize("name", awkward.AWKWARD)
def test_awkward_graphs_are_legal(name: str) -> None:
    check_graph(awkward.AWKWARD[name](), split_required=True)


def test_sparse_features_are_legal() -> None:
    data = awkward.plain()
    data.x = to_sparse(data.x)
    check_graph(data, split_required=True)


EDGES = awkward.plain().edge_index
LABELS = awkward.plain().y
X = awkward.plain().x
TRAIN = awkward.plain().train_mask
INF = X.clone()
INF[3, 1], INF[4, 0] = torch.inf, torch.nan


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"edge_index": None},
            "edge_index must be a tensor of shape [2, num_edges] (got NoneType); "
            "for a graph without edges give torch.empty(2, 0, dtype=torch.long)",
        ),
        (
            {"edge_index": EDGES.t()},
            "edge_index must have the shape [2, num_edges] (got [28, 2]); "
            "a list of pairs needs .t().contiguous()",
        ),
        (
            {"edge_index": EDGES.int()},
            "edge_index must be of type torch.int64 (got torch.int32); convert it with .long()",
        ),
        (
            {"edge_index": EDGES + 1},
            "edge_index must hold node indices from 0 to 9 (got 1 to 10; the graph has 10 nodes); "
            "number the nodes from 0 or set num_nodes",
        ),
        (
            {"edge_index": EDGES - 1},
            "edge_index must hold node indices from 0 to 9 (got -1 to 8; the graph has 10 nodes); "
            "number the nodes from 0 or set num_nodes",
        ),
        (
            {"edge_weight": torch.ones(3)},
            "edge_weight must have one value per edge (got shape [3]; the graph has 28 edges); "
            "give a tensor of that length or None",
        ),
        (
            {"edge_weight": torch.linspace(-1, 1, 28)},
            "edge_weight must be finite and not negative (got -1 to 1); "
            "drop or rescale the other edges",
        ),
        (
            {"x": X[:8]},
            "x must have one row of features per node (got shape [8, 4]; the graph has 10 nodes); "
            "for a graph without features give x=None",
        ),
        (
            {"x": X.long()},
            "x must be of a floating-point type (got torch.int64); convert it with .float()",
        ),
        (
            {"x": INF},
            "x must be finite (got 2 values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)",
        ),
        (
            {"x": to_sparse(INF)},
            "x must be finite (got 2 values that are NaN or infinite); "
            "replace them, for instance with torch.nan_to_num(x)",
        ),
        (
            {"y": None},
            "y must hold one class index per node (got None); mark unlabelled nodes with -1",
        ),
        (
            {"y": LABELS.float()},
            "y must be one class index per node (got torch.float32 of shape [10]): regression and "
            "multi-label targets aren't supported; give integers in one dimension",
        ),
        (
            {"y": torch.zeros(10, 3, dtype=torch.long)},
            "y must be one class index per node (got torch.int64 of shape [10, 3]): regression "
            "and multi-label targets aren't supported; give integers in one dimension",
        ),
        (
            {"y": LABELS > 0},
            "y must be of an integer type (got torch.bool); convert it with .long()",
        ),
        (
            {"y": LABELS[:7]},
            "y must have one label per node (got 7 labels; the graph has 10 nodes); "
            "mark unlabelled nodes with -1 and set num_nodes",
        ),
        (
            {"y": LABELS - 2},
            "y must hold classes from 0 up, or -1 for unlabelled nodes (got -2); "
            "renumber the classes with torch.unique(y, return_inverse=True)",
        ),
        (
            {"train_mask": TRAIN.nonzero().flatten()},
            "train_mask must be of type torch.bool (got torch.int64); "
            "make one from node indices with torch_geometric.utils.index_to_mask",
        ),
        (
            {"val_mask": TRAIN[:6]},
            "val_mask must have one entry per node (got shape [6]; the graph has 10 nodes); "
            "make masks with random_splits(data.y, 10)",
        ),
        (
            {"test_mask": TRAIN},
            "train_mask and test_mask must not share nodes (got 6 in both); "
            "take them out of one of the two",
        ),
        (
            {"test_mask": torch.zeros(10, 2, dtype=torch.bool)},
            "train_mask and test_mask must have the same shape (got [10] and [10, 2]); "
            "make all three from the same splits",
        ),
        (
            {"y": torch.where(torch.arange(10) == 0, -1, LABELS)},
            "train_mask must select labelled nodes only (got 1 with the label -1); "
            "take them out with mask & (data.y >= 0)",
        ),
    ],
)
def test_broken_graphs(changes: dict[str, object], text: str) -> None:
    assert message(broken(**changes)) == text


def test_one_class_is_refused() -> None:
    assert message(awkward.one_class()) == (
        "y must hold at least two classes (got 1); there is nothing to tell apart"
    )


def test_no_nodes() -> None:
    data = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0)
    assert message(data) == "a graph must have at least one node (got 0); set x or num_nodes"


def test_two_dimensional_masks() -> None:
    wide = torch.zeros(10, 10, dtype=torch.bool)
    data = broken(train_mask=wide, val_mask=wide, test_mask=wide)
    check_graph(data)
    assert message(data, split_required=True) == (
        "masks must be one-dimensional (got [10, 10]: ten splits); "
        "choose one with load_dataset(name, split=0) or select_split(data, 0)"
    )


def test_required_split() -> None:
    data = broken(val_mask=torch.zeros(10, dtype=torch.bool))
    check_graph(data)
    assert message(data, split_required=True) == (
        "val_mask must select at least one node (got none); "
        "make masks with random_splits(data.y, 10)"
    )
    del data.val_mask
    check_graph(data)
    assert message(data, split_required=True) == (
        "train_mask, val_mask, test_mask must all be set (got no val_mask); "
        "make them with random_splits(data.y, num_splits=1)"
    )
