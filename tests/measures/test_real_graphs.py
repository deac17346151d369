"""Values on real graphs; they run where the environment variable HEROFILTER_DATA is set."""

import os

import pytest

from herofilter.data import load_dataset
from herofilter.measures import data_card, edge_heterophily, node_heterophily

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
