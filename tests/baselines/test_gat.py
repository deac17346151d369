"""GAT against PyG's layers, and its rule for heads."""

import pytest
import torch
from torch.nn.functional import elu
from torch_geometric.nn import GATConv

from herofilter.baselines.edge_list import edges_of
from herofilter.baselines.gat import GAT, attend
from herofilter.errors import ConfigError
from herofilter.nn.dropout import Dropout
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_layers_of_pyg(name: str) -> None:
    data = AWKWARD[name]()
    model = GAT(4, 8, 3, num_layers=3, heads=4).eval()
    # a neighbour counts once, however many edges lead to it
    pairs = data.edge_index.unique(dim=1)
    x = data.x
    for number, conv in enumerate(model.convs):
        x = conv(elu(x) if number else x, pairs)
    assert_same(model(data), x, model)


def test_attention_is_dropped_in_training() -> None:
    data = AWKWARD["plain"]()
    conv, dropout = GATConv(4, 2, 2), Dropout(0.5)
    dropout.generator = torch.Generator().manual_seed(0)
    same = torch.ones(10, 4)
    # weights that add up to one leave the mean of equal vectors as it is
    kept = attend(conv, edges_of(data), same, dropout.eval())
    torch.testing.assert_close(kept, kept[:1].expand_as(kept))
    dropped = attend(conv, edges_of(data), same, dropout.train())
    assert dropped.std(0).min() > 0


def test_heads_and_layers() -> None:
    model, _ = build("gat", AWKWARD["plain"](), heads=4, num_layers=3, hidden_channels=12)
    sizes = [(conv.heads, conv.out_channels) for conv in model.convs]
    assert sizes == [(4, 3), (4, 3), (1, 3)]


@pytest.mark.parametrize(("hidden", "heads"), [(64, 8), (12, 4), (10, 2), (7, 1)])
def test_own_heads_fit_the_width(hidden: int, heads: int) -> None:
    model, _ = build("gat", AWKWARD["plain"](), hidden_channels=hidden)
    assert (model.convs[0].heads, model.convs[0].out_channels) == (heads, hidden // heads)


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        build("gat", AWKWARD["plain"](), heads=3)
    assert str(caught.value) == (
        "heads must divide hidden_channels (got 3 heads and 8 channels); heads=0 takes what fits"
    )
