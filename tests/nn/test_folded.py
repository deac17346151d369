"""The folded end of a model says what its layers say one after the other."""

import pytest
import torch
from torch import Tensor

from herofilter.data import csbm
from herofilter.nn import HeroFilter
from herofilter.nn.aggregation import Aggregation
from herofilter.nn.folded import FoldedEnd, fold_end
from herofilter.patchers import FastPatcher, Slot
from herofilter.settings import AGGREGATIONS, ModelConfig

SLOTS = [Slot("ego", 0, 1), Slot("out", 1, 4), Slot("in", 4, 6)]


def make_model(classes: int = 3, **settings: object) -> HeroFilter:
    data = csbm(num_nodes=60, num_classes=3, num_features=8)
    config = ModelConfig(hidden_channels=32, **settings)  # type: ignore[arg-type]
    model = HeroFilter(8, classes, patcher=FastPatcher(patch_size=6)(data), config=config)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        # layers that start at zero would hide a wrong formula
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw) / 4)
    return model.eval()


def fold(model: HeroFilter) -> FoldedEnd | None:
    return fold_end(model.blocks, model.aggregate, model.head)


def draw_tokens(count: int = 6) -> Tensor:
    return torch.randn(count, 7, 32, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", AGGREGATIONS)
def test_a_map_per_position_adds_up_to_the_map(kind: str) -> None:
    aggregate = Aggregation(kind, SLOTS, 5)
    if aggregate.weight is not None:
        torch.nn.init.normal_(aggregate.weight)
    weight, tokens = torch.randn(4, aggregate.out_channels), torch.randn(6, 3, 5)
    with torch.no_grad():
        found = torch.einsum("pch,pbh->bc", aggregate.per_position(weight), tokens)
        torch.testing.assert_close(found, aggregate(tokens) @ weight.t())


@pytest.mark.parametrize("kind", AGGREGATIONS)
@pytest.mark.parametrize("settings", [{}, {"num_layers": 2}, {"expansion": 0.5}])
def test_it_equals_the_layers(kind: str, settings: dict[str, object]) -> None:
    model = make_model(aggregation=kind, **settings)
    with torch.no_grad():
        folded, tokens = fold(model), draw_tokens()
        assert folded is not None
        expected = model.mix(tokens.clone())
        torch.testing.assert_close(folded(tokens), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"num_layers": 0},
        {"norm": "patch"},
        {"norm": "none"},
        {"residual": False},
        {"patch_mixing": False},
        {"feature_mixing": False},
        {"head_layers": 2},
        {"classes": 9},
    ],
)
def test_others_are_left_as_they_are(settings: dict[str, object]) -> None:
    model = make_model(**settings)  # type: ignore[arg-type]
    with torch.no_grad():
        assert fold(model) is None


@pytest.mark.parametrize("kind", [torch.float64, "meta"])
def test_only_32_bits_on_a_processor_are_folded(kind: torch.dtype | str) -> None:
    model = make_model()
    assert fold(model) is not None
    assert fold(model.to(kind)) is None


def test_a_model_predicts_the_same_with_and_without_a_way_back() -> None:
    data = csbm(num_nodes=60, num_classes=3, num_features=8)
    model = make_model(label_tokens=True)
    expected = model(data).detach()
    with torch.no_grad():
        torch.testing.assert_close(model(data), expected, rtol=1e-5, atol=1e-5)


def test_numbers_that_are_none_stay_none() -> None:
    model = make_model()
    with torch.no_grad():
        folded, tokens = fold(model), draw_tokens()
        assert folded is not None
        tokens[0, 0] = float("nan")
        found = folded(tokens)
    assert found[0].isnan().all()
    assert found[1:].isfinite().all()
