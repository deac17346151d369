"""Values on real graphs; they run where the environment variable HEROFILTER_DATA is set."""

import os

import pytest
import torch

from herofilter.data import load_dataset
from herofilter.measures import (
    data_card,
    edge_class_p_value,
    edge_heterophily,
    node_heterophily,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("HEROFILTER_DATA"), reason="HEROFILTER_DATA isn't set"),
]

# node heterophily (Definition 1) and edge heterophily of PyG's edge_index
HETEROPHILY = {
    "cora": (0.175, 0.190),
    "citeseer": (0.279, 0.264),
    "pubmed": (0.208, 0.198),
    "texas": (0.943, 0.892),
    "squirrel": (0.783, 0.776),
    "chameleon": (0.753, 0.765),
    "cornell": (0.699, 0.695),
    "wisconsin": (0.845, 0.804),
    "actor": (0.780, 0.781),
}
# whether the classes of neighbours are paired as by chance
P_VALUES = {"actor": True, "minesweeper": True, "wisconsin": False, "chameleon": False}


@pytest.mark.parametrize("name", HETEROPHILY)
def test_heterophily_of_real_graphs(name: str) -> None:
    data = load_dataset(name)
    node, edge = HETEROPHILY[name]
    assert node_heterophily(data) == pytest.approx(node, abs=1e-3)
    assert edge_heterophily(data) == pytest.approx(edge, abs=1e-3)


def test_the_card_of_a_real_graph() -> None:
    card = data_card(load_dataset("chameleon", split=None))
    assert (card.name, card.num_nodes, card.num_edges) == ("chameleon", 2277, 36101)
    assert card.directed
    assert card.variant
    assert card.splits is not None
    assert (card.splits.count, card.splits.train, card.splits.test) == (10, 1092, 456)
    assert card.repeated_test_rows is not None
    assert card.repeated_test_rows > 0


def test_cornell_has_the_nodes_of_texas_and_edges_of_others() -> None:
    texas, cornell = (load_dataset(name, split=None) for name in ("texas", "cornell"))
    assert torch.equal(texas.x.to_dense(), cornell.x.to_dense())
    assert torch.equal(texas.y, cornell.y)
    assert not torch.equal(texas.edge_index, cornell.edge_index)
    assert edge_class_p_value(texas) == 0.005
    assert edge_class_p_value(cornell) > 0.05


def test_edges_of_actor_and_minesweeper_tell_no_class_by_themselves() -> None:
    known = {name: edge_class_p_value(load_dataset(name, split=None)) for name in P_VALUES}
    assert {name: value > 0.05 for name, value in known.items()} == P_VALUES
