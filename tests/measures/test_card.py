import json
import math

import pytest
import torch
from torch_geometric.data import Data

from herofilter.data import csbm, random_splits, with_features
from herofilter.errors import GraphError
from herofilter.measures import MemoryNeed, SplitSizes, card, data_card, node_heterophily
from herofilter.patchers import FastPatcher, PolynomialPatcher, patcher_memory
from herofilter.spectral import eigen_memory
from tests.awkward import (
    AWKWARD,
    directed,
    duplicates,
    isolated_nodes,
    no_edges,
    no_features,
    one_class,
    plain,
    self_loops,
    unlabelled,
)


@pytest.mark.parametrize("name", AWKWARD)
def test_every_awkward_graph_has_a_card_that_json_can_hold(name: str) -> None:
    data = AWKWARD[name]()
    values = data_card(data, name).to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["name"] == name
    assert values["num_nodes"] == data.num_nodes
    assert values["num_edges"] == data.num_edges
    assert values["node_heterophily"] == node_heterophily(data)


def test_counts_on_the_card() -> None:
    assert data_card(plain()).num_undirected_edges == 14
    assert data_card(directed()).num_undirected_edges == 14
    assert data_card(isolated_nodes()).num_isolated == 3
    assert data_card(self_loops()).num_self_loops == 3
    assert data_card(self_loops()).num_undirected_edges == 10
    assert data_card(duplicates()).num_duplicates == 9
    found = data_card(unlabelled())
    assert (found.num_unlabelled, sum(found.class_counts), found.num_classes) == (4, 10, 3)


def test_undefined_measures_become_none() -> None:
    found = data_card(no_edges())
    assert math.isnan(found.adjusted_homophily)
    assert found.to_dict()["adjusted_homophily"] is None
    assert found.node_heterophily == 0.0


@pytest.mark.parametrize("made_up", [False, True])
def test_without_features_nothing_is_said_about_them(made_up: bool) -> None:
    data = with_features(no_features()) if made_up else no_features()
    found = data_card(data)
    assert found.num_features is None
    assert found.feature_density is None
    assert found.repeated_test_rows is None


def test_feature_density_and_repeated_rows() -> None:
    data = plain()
    data.x = torch.zeros(10, 4)
    data.x[:, 0] = 1
    found = data_card(data)
    assert (found.num_features, found.feature_density) == (4, 0.25)
    assert found.repeated_test_rows == int(data.test_mask.sum())


def test_large_graphs_skip_the_search_for_repeated_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "LEAKAGE_NODES", 9)
    assert data_card(plain()).repeated_test_rows is None


def test_splits() -> None:
    data = plain()
    assert data_card(data).splits == SplitSizes(1, 6, 2, 2)
    data.train_mask, data.val_mask, data.test_mask = random_splits(data.y, 3, (0.4, 0.3, 0.3))
    assert data_card(data).splits == SplitSizes(
        3, *(int(mask[:, 0].sum()) for mask in (data.train_mask, data.val_mask, data.test_mask))
    )
    del data.val_mask
    assert data_card(data).splits is None


def test_memory_needs_and_whether_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {
        "polynomial": PolynomialPatcher.memory(10, 28),
        "spectral": eigen_memory(10),
        "fast": FastPatcher().memory(10, 28),
    }
    free = sorted(needs.values())[1]
    monkeypatch.setattr(card, "free_memory", lambda: free)
    found = data_card(plain(), memory=patcher_memory(plain())).memory
    assert found == tuple(MemoryNeed(name, size, size <= free) for name, size in needs.items())
    assert {need.fits for need in found} == {True, False}
    assert data_card(plain()).memory == ()


def test_the_direction_rule() -> None:
    assert data_card(directed()).direction_rule == (
        "directed: all patchers keep directions; directed=symmetrise forgets them, "
        "as the paper does"
    )
    assert data_card(plain()).direction_rule == "undirected: all patchers take it as it is"


def test_name_and_variant_come_from_the_graph_unless_given() -> None:
    data = csbm(num_nodes=60)
    assert data_card(data).variant == data.variant != ""
    data.name = "own"
    assert data_card(data).name == "own"
    assert data_card(data, "mine").name == "mine"
    assert data_card(plain()).name == data_card(plain()).variant == ""


def test_a_broken_graph_has_no_card() -> None:
    with pytest.raises(GraphError, match="at least two classes"):
        data_card(one_class())
    with pytest.raises(GraphError, match="edge_index"):
        data_card(Data(x=torch.ones(2, 1), y=torch.tensor([0, 1])))


def test_classes_have_the_names_of_the_table() -> None:
    found = data_card(plain(), classes=[*range(8), True])
    assert found.classes == ("0", "1", "2", "3", "4", "5", "6", "7", "true")
    # a class that no node has is counted too
    assert len(found.class_counts) == 9
    assert data_card(plain()).to_dict()["classes"] == []
