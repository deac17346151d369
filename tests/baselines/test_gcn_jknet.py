"""GCN-JKNet against PyG's layers."""

import pytest
import torch

from herofilter.baselines.gcn_jknet import GCNJKNet
from herofilter.errors import ConfigError
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build


@pytest.mark.parametrize("mode", ["cat", "max"])
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_layers_of_pyg(name: str, mode: str) -> None:
    data = AWKWARD[name]()
    model = GCNJKNet(4, 8, 3, num_layers=3, mode=mode).eval()
    found = [data.x]
    for conv in model.convs:
        found.append(conv(found[-1], data.edge_index, data.get("edge_weight")).relu())
    jumped = torch.cat(found[1:], 1) if mode == "cat" else torch.stack(found[1:]).amax(0)
    assert_same(model(data), model.classifier(jumped), model)


def test_every_layer_is_hidden() -> None:
    model, _ = build("gcn-jknet", AWKWARD["plain"](), num_layers=4)
    assert [conv.out_channels for conv in model.convs] == [8] * 4
    assert (model.jump.mode, model.classifier.in_features) == ("max", 8)
    assert GCNJKNet(4, 8, 3, num_layers=4, mode="cat").classifier.in_features == 32


def test_unknown_mode() -> None:
    with pytest.raises(ConfigError) as caught:
        GCNJKNet(4, 8, 3, mode="lstm")
    assert str(caught.value) == "mode must be one of max, cat (got 'lstm')"
