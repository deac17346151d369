import pytest
import torch

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.nn import HeroFilter
from herofilter.patchers import LearnedPatcher, PolynomialPatcher, ShuffledPatcher, SpectralPatcher
from herofilter.training import train

GRAPH = csbm(num_nodes=60, num_classes=3, average_degree=4)


def patchers() -> list[LearnedPatcher]:
    return [
        PolynomialPatcher(GRAPH, 8, ("low", "hop2")),
        SpectralPatcher(GRAPH, 8),
        PolynomialPatcher(GRAPH, 8, ego="ranked"),
    ]


def entries(patcher: LearnedPatcher, nodes: torch.Tensor | None = None) -> list[list[object]]:
    patches = patcher(nodes)
    pairs = zip(patches.index.tolist(), patches.score.tolist(), strict=True)
    return [sorted(zip(*row, strict=True)) for row in pairs]


@pytest.mark.parametrize("inner", patchers(), ids=lambda patcher: type(patcher).__name__)
def test_only_the_order_differs(inner: LearnedPatcher) -> None:
    shuffled = ShuffledPatcher(inner, seed=1)
    assert entries(shuffled) == entries(inner)
    ranked, mixed = inner(), shuffled()
    own = ranked.index == ranked.nodes.unsqueeze(1)
    fixed = own | ~ranked.mask
    assert torch.equal(mixed.index[fixed], ranked.index[fixed])
    assert (mixed.index != ranked.index)[~fixed].float().mean() > 0.5
    assert torch.equal(shuffled.index, mixed.index)
    hidden = torch.randn(60, 4)
    assert torch.equal(shuffled.summarise(hidden), inner.summarise(hidden))
    assert shuffled.num_summaries == inner.num_summaries


def test_some_nodes_have_the_rows_that_all_have() -> None:
    shuffled = ShuffledPatcher(PolynomialPatcher(GRAPH, 8))
    nodes = torch.tensor([41, 3, 7])
    assert torch.equal(shuffled(nodes).index, shuffled().index[nodes])
    assert torch.equal(shuffled(nodes).score, shuffled().score[nodes])


def test_the_filter_gets_its_gradient() -> None:
    gradients = []
    for wrap in (False, True):
        inner = PolynomialPatcher(GRAPH, 8)
        patcher = ShuffledPatcher(inner) if wrap else inner
        patcher().score.square().sum().backward()
        gradients.append(inner.learned.values.grad)
    assert gradients[0].abs().sum() > 0
    torch.testing.assert_close(gradients[0], gradients[1])


def test_a_seed_gives_one_order_and_a_new_choice_another() -> None:
    first, same, other = (ShuffledPatcher(PolynomialPatcher(GRAPH, 8), seed) for seed in (0, 0, 1))
    assert torch.equal(first.index, same.index)
    assert not torch.equal(first.index, other.index)
    before = first.index.clone()
    first.refresh()
    assert not torch.equal(first.index, before)
    first.reset_parameters()
    assert torch.equal(first.index, before)


def test_a_model_trains_on_it_and_its_state_restores_the_order() -> None:
    torch.manual_seed(0)
    config = Config().replace(hidden_channels=8, epochs=6, refresh_every=2)
    model = HeroFilter(32, 3, ShuffledPatcher(PolynomialPatcher(GRAPH, 8)), config.model)
    train(model, select_split(GRAPH, 0), config.train)
    copy = HeroFilter(32, 3, ShuffledPatcher(PolynomialPatcher(GRAPH, 8)), config.model)
    copy.load_state_dict(model.state_dict())
    copy.restore()
    assert torch.equal(copy.patches().index, model.patches().index)
    model.eval(), copy.eval()
    with torch.no_grad():
        assert torch.equal(copy(GRAPH), model(GRAPH))
