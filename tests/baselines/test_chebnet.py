"""ChebNet against PyG's layers."""

import pytest

from herofilter.baselines.chebnet import ChebNet
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build, undirected


@pytest.mark.parametrize("hops", [1, 2, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_layers_of_pyg(name: str, hops: int) -> None:
    data = undirected(name)
    model = ChebNet(4, 8, 3, num_layers=3, hops=hops).eval()
    x = data.x
    for number, conv in enumerate(model.convs):
        x = x.relu() if number else x
        x = conv(x, data.edge_index, data.get("edge_weight"), lambda_max=2.0)
    assert_same(model(data), x, model)


def test_options_reach_the_model() -> None:
    model, _ = build("chebnet", AWKWARD["plain"](), hops=4, num_layers=3)
    assert [len(conv.lins) for conv in model.convs] == [5, 5, 5]
    assert len(build("chebnet", AWKWARD["plain"]())[0].convs[0].lins) == 2
