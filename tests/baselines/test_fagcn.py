"""FAGCN against PyG's layers."""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from herofilter.baselines.fagcn import FAGCN, fa_conv, normalised_edges
from herofilter.nn.dropout import Dropout
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_layers_of_pyg(name: str) -> None:
    data = AWKWARD[name]()
    model = FAGCN(4, 8, 3, num_layers=3, eps=0.4).eval()
    x = first = model.stem(data.x)
    for conv in model.convs:
        if name == "weighted":
            # PyG takes weights only if they are normalised already
            conv.normalize = False
            weights = gcn_norm(data.edge_index, data.edge_weight, 10)
            x = conv(x, first, *weights)
        else:
            x = conv(x, first, data.edge_index)
    assert_same(model(data), model.classifier(x), model)


def test_gates_are_dropped_in_training() -> None:
    data = AWKWARD["plain"]()
    model = FAGCN(4, 8, 3)
    conv, first = model.convs[0], torch.zeros(10, 8)
    x = torch.randn(10, 8, generator=torch.Generator().manual_seed(0))
    dropout = Dropout(0.5)
    dropout.generator = torch.Generator().manual_seed(0)
    kept = fa_conv(conv, normalised_edges(data), x, first, dropout.eval())
    dropped = fa_conv(conv, normalised_edges(data), x, first, dropout.train())
    assert not torch.allclose(kept, dropped)


def test_neighbours_may_count_with_a_minus() -> None:
    model, data = build("fagcn", AWKWARD["plain"]())
    conv = model.convs[0]
    x, first = torch.ones(10, 8), torch.zeros(10, 8)
    for sign in (1.0, -1.0):
        for layer in (conv.att_l, conv.att_r):
            layer.weight.data.fill_(sign)
        found = fa_conv(conv, normalised_edges(data), x, first, model.dropout)
        assert bool((found * sign > 0).all())


def test_options_reach_the_model() -> None:
    model, _ = build("fagcn", AWKWARD["plain"](), alpha=0.7, num_layers=4)
    assert [conv.eps for conv in model.convs] == [0.7] * 4
    assert build("fagcn", AWKWARD["plain"]())[0].convs[0].eps == 0.3
