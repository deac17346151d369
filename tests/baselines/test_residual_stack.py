"""The deep convolutions with residual connections against PyG's layers."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import BatchNorm
from torch_geometric.utils import remove_self_loops

from herofilter.baselines import ResGAT, ResGCN, ResGraphSAGE
from herofilter.baselines.residual_stack import ResidualStack
from herofilter.data import csbm
from herofilter.errors import ConfigError
from herofilter.training.search.space import make_space
from herofilter.training.search.suggest import DefaultSuggester
from tests.awkward import AWKWARD
from tests.baselines.oracles import GRAPHS, assert_same, build

Layer = Callable[[nn.Module, Data, Tensor], Tensor]


def gcn(conv: nn.Module, data: Data, x: Tensor) -> Tensor:
    out: Tensor = conv(x, data.edge_index, data.get("edge_weight"))
    return out


def without_loops(conv: nn.Module, data: Data, x: Tensor) -> Tensor:
    out: Tensor = conv(x, remove_self_loops(data.edge_index)[0])
    return out


def distinct(conv: nn.Module, data: Data, x: Tensor) -> Tensor:
    # attention counts a neighbour once, however many edges lead to it
    out: Tensor = conv(x, remove_self_loops(data.edge_index.unique(dim=1))[0])
    return out


def expected(model: ResidualStack, data: Data, layer: Layer, norm: str) -> Tensor:
    """Return the logits by PyG's layers; ``norm`` by its formula, at the start of training."""
    x = model.project(data.x)
    for conv, residual in zip(model.convs, model.residuals, strict=True):
        x = layer(conv, data, x) + residual(x)
        if norm == "layer":
            x = (x - x.mean(1, keepdim=True)) / (x.var(1, False, keepdim=True) + 1e-5).sqrt()
        if norm == "batch":
            x = (x - x.mean(0)) / (x.var(0, False) + 1e-5).sqrt()
        x = x.relu()
    out: Tensor = model.classifier(x)
    return out


MODELS = [
    pytest.param(ResGCN, gcn, id="gcn"),
    pytest.param(ResGraphSAGE, without_loops, id="sage"),
    pytest.param(lambda *sizes, **rest: ResGAT(*sizes, **rest, heads=4), distinct, id="gat"),
]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("make", "layer"), MODELS)
def test_equals_the_layers_of_pyg(
    make: Callable[..., ResidualStack], layer: Layer, name: str
) -> None:
    if name == "weighted" and layer is without_loops:
        pytest.skip("PyG's SAGEConv takes no weights")
    data = AWKWARD[name]()
    model = make(4, 8, 3, num_layers=3, normalise="none").eval()
    assert_same(model(data), expected(model, data, layer, "none"), model)


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize(("make", "layer"), MODELS)
def test_normalisation_is_before_the_activation(
    make: Callable[..., ResidualStack], layer: Layer, norm: str
) -> None:
    data = AWKWARD["plain"]()
    # in training a batch has its own mean; without dropout the rest is the same
    model = make(4, 8, 3, 3, 0.0, 0.0, normalise=norm).train()
    found = expected(model, data, layer, norm)
    torch.testing.assert_close(model(data), found, rtol=1e-4, atol=1e-5)


def test_without_weights_of_the_convolutions_only_residuals_are_left() -> None:
    model, data = build("res-gcn", AWKWARD["plain"](), normalise="none", depth=4)
    for conv in model.convs:
        nn.init.zeros_(conv.lin.weight)
    before = model(data)
    other = AWKWARD["no_edges"]()
    torch.testing.assert_close(model(other), before)


@pytest.mark.parametrize("name", ["res-gcn", "res-graphsage", "res-gat"])
def test_depth_and_normalisation_reach_the_model(name: str) -> None:
    own, _ = build(name, AWKWARD["plain"]())
    assert (len(own.convs), type(own.norms[0])) == (3, BatchNorm)
    deep, _ = build(name, AWKWARD["plain"](), depth=10, normalise="none", num_layers=3)
    assert (len(deep.convs), type(deep.norms[0])) == (10, nn.Identity)


@pytest.mark.parametrize("model", ["res-gcn", "res-gat", "dir-gnn", "gcn"])
def test_a_search_varies_either_depth_or_layers(model: str) -> None:
    suggester = DefaultSuggester()
    make_space("wide", model, csbm(num_nodes=60)).suggest(suggester)
    assert ("depth" in suggester.taken) is (model != "gcn")
    assert ("num_layers" in suggester.taken) is (model == "gcn")


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigError) as caught:
        ResGCN(4, 8, 3, normalise="group")
    assert str(caught.value) == "normalise must be one of layer, batch, none (got 'group')"
    with pytest.raises(ConfigError) as caught:
        build("res-gat", AWKWARD["plain"](), heads=3)
    assert str(caught.value) == (
        "hidden_channels must be a multiple of heads (got 8 channels and 3 heads)"
    )
