import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import GraphSpec, check_graph, csbm
from herofilter.errors import GraphError
from herofilter.training import prepare
from tests.awkward import no_features
from tests.training.graphs import SMALL


def bare() -> Data:
    data = csbm(num_nodes=40, num_classes=3, seed=3)
    return Data(x=data.x, edge_index=data.edge_index, num_nodes=40)


def test_the_sizes_of_a_graph() -> None:
    assert GraphSpec.of(csbm(num_nodes=40, num_classes=3)) == GraphSpec(32, 3, 40)
    prepared = prepare(no_features(), SMALL)
    spec = GraphSpec.of(prepared)
    assert spec.featureless
    assert spec.num_embeddings == spec.num_nodes == prepared.num_nodes
    assert GraphSpec.of(bare(), num_classes=7) == GraphSpec(32, 7, 40)


def test_a_graph_without_labels_does_not_say_how_many_classes_there_are() -> None:
    with pytest.raises(GraphError) as caught:
        GraphSpec.of(bare())
    assert str(caught.value) == (
        "the number of classes must be given for a graph without labels (got none); "
        "give num_classes"
    )


def test_labels_are_checked_only_where_they_are_needed() -> None:
    check_graph(bare(), labels_required=False)
    assert prepare(bare(), SMALL, labels_required=False).get("y") is None
    with pytest.raises(GraphError, match="y must hold one class index per node"):
        check_graph(bare())
    with pytest.raises(GraphError, match="y must hold one class index per node"):
        check_graph(bare(), split_required=True, labels_required=False)
    wrong = bare()
    wrong.edge_index = torch.tensor([[0], [40]])
    with pytest.raises(GraphError, match="edge_index must hold node indices from 0 to 39"):
        check_graph(wrong, labels_required=False)


def test_a_test_part_is_needed_only_for_its_score() -> None:
    data = bare()
    data.y = torch.arange(40) % 3
    data.train_mask, data.val_mask = torch.arange(40) < 20, torch.arange(40) >= 20
    check_graph(data, split_required=True, test_required=False)
    with pytest.raises(GraphError, match=r"must all be set \(got no test_mask\)"):
        check_graph(data, split_required=True)
    data.test_mask = torch.zeros(40, dtype=torch.bool)
    check_graph(data, split_required=True, test_required=False)
    with pytest.raises(GraphError, match="test_mask must select at least one node"):
        check_graph(data, split_required=True)
    del data.val_mask
    with pytest.raises(GraphError) as caught:
        check_graph(data, split_required=True, test_required=False)
    assert str(caught.value).startswith("train_mask, val_mask must all be set (got no val_mask)")
