"""Stochastic depth: who passes through a block, and that the mean is that of inference."""

import pytest
import torch

from herofilter.config import Config, from_earlier
from herofilter.data import csbm
from herofilter.nn import find_model
from herofilter.nn.drop_path import DropPath
from herofilter.nn.mixer import MixerBlock


def block(drop_path: float) -> MixerBlock:
    torch.manual_seed(0)
    made = MixerBlock(5, 4, dropout=0.0, drop_path=drop_path)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    made.path.generator = torch.Generator().manual_seed(1)
    return made


def tokens() -> torch.Tensor:
    return torch.randn(5, 8, 4, generator=torch.Generator().manual_seed(2))


def test_nodes_are_chosen_anew_and_equally_often() -> None:
    path = DropPath(0.25)
    path.generator = torch.Generator().manual_seed(0)
    counts = torch.zeros(8)
    for _ in range(2000):
        kept = path.kept(8)
        assert kept is not None
        assert torch.equal(kept, kept.unique())
        assert len(kept) == 6
        counts[kept] += 1
    assert (counts / 2000 - 0.75).abs().max() < 0.04


@pytest.mark.parametrize(("rate", "count"), [(0.0, 8), (0.5, 1), (0.01, 8)])
def test_all_nodes_pass_where_none_can_be_spared(rate: float, count: int) -> None:
    assert DropPath(rate).kept(count) is None


def test_no_node_skips_a_block_at_inference() -> None:
    dropping, whole = block(0.5).eval(), block(0.0).eval()
    assert torch.equal(dropping(tokens()), whole(tokens()))
    with torch.no_grad():
        torch.testing.assert_close(dropping(tokens()), whole(tokens()))


def test_those_that_skip_stay_as_they_are_and_get_gradients() -> None:
    x, made = tokens().requires_grad_(), block(0.5)
    out = made(x)
    same = (out == x).all(0).all(1)
    assert same.sum() == 4
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad[:, same], torch.ones(5, 4, 4))
    assert not torch.equal(x.grad[:, ~same], torch.ones(5, 4, 4))


def test_the_mean_of_what_a_layer_adds_is_that_of_inference() -> None:
    torch.manual_seed(0)
    made = MixerBlock(5, 4, dropout=0.0, drop_path=0.5, feature_mixing=False)
    torch.nn.init.normal_(made.layers[1].second.weight)
    made.path.generator = torch.Generator().manual_seed(1)
    mean = sum(made(tokens()) for _ in range(4000)) / 4000
    torch.testing.assert_close(mean, made.eval()(tokens()), atol=0.15, rtol=0.0)


def test_a_block_without_residuals_has_no_path_around_it() -> None:
    assert MixerBlock(5, 4, residual=False, drop_path=0.5).path.p == 0.0


def test_models_get_the_rate_of_the_graph_and_earlier_ones_none() -> None:
    few = csbm(num_nodes=60, num_classes=3, average_degree=4)
    assert find_model("herofilter").build(few, Config()).blocks[0].path.p == 0.5
    saved = Config().to_dict()
    del saved["model"]["drop_path"]
    assert Config.from_dict(from_earlier(saved)).model.drop_path == 0.0
    assert Config.from_dict(from_earlier(Config().to_dict())).model.drop_path is None
