"""GraphSAGE against PyG's layers."""

import pytest
import torch
from torch_geometric.utils import remove_self_loops

from herofilter.baselines.adjacency import adjacency
from herofilter.baselines.graphsage import GraphSAGE
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "weighted"])
def test_equals_the_layers_of_pyg(name: str) -> None:
    data = AWKWARD[name]()
    model = GraphSAGE(4, 8, 3, num_layers=3).eval()
    edges, _ = remove_self_loops(data.edge_index)
    x = data.x
    for number, conv in enumerate(model.convs):
        x = conv(x.relu() if number else x, edges)
    assert_same(model(data), x, model)


def test_weights_weigh_the_mean() -> None:
    model, data = build("graphsage", AWKWARD["weighted"]())
    matrix = torch.from_numpy(adjacency(data, loops=False).toarray()).float()
    mean = matrix / matrix.sum(1, keepdim=True)
    first, second = model.convs
    hidden = (mean @ first.lin_l(data.x) + first.lin_r(data.x)).relu()
    assert_same(model(data), mean @ second.lin_l(hidden) + second.lin_r(hidden), model)


def test_a_node_without_neighbours_has_only_its_own_share() -> None:
    model, data = build("graphsage", AWKWARD["no_edges"]())
    first, second = model.convs
    hidden = first.lin_r(data.x).relu()
    torch.testing.assert_close(model(data), second.lin_r(hidden))
