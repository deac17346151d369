"""The folded end of a model gives the logits of its layers."""

import numpy as np
import pytest
import torch
from torch import Tensor

from herofilter.data import csbm
from herofilter.nn import HeroFilter
from herofilter.nn.aggregation import Aggregation
from herofilter.nn.inference.folded import FoldedEnd, fold_end
from herofilter.patchers import FastPatcher, RelationSummary, Slot
from herofilter.settings import AGGREGATIONS, ModelConfig

SLOTS = [Slot("ego", 0, 1), Slot("out", 1, 4), Slot("in", 4, 6)]


def make_model(
    classes: int = 3, channels: int = 32, summary: bool = False, **settings: object
) -> HeroFilter:
    data, patcher = csbm(num_nodes=60, num_classes=3, num_features=8), FastPatcher(patch_size=6)
    config = ModelConfig(hidden_channels=channels, **settings)  # type: ignore[arg-type]
    relations = RelationSummary(data, patcher) if summary else None
    model = HeroFilter(8, classes, patcher(data), config, relations=relations)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        # layers that start at zero would hide a wrong formula
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    return model.eval()


def fold(model: HeroFilter) -> FoldedEnd | None:
    return fold_end(model.blocks, model.aggregate, model.head)


def random_tokens(count: int = 6, nodes: int = 7) -> Tensor:
    return torch.randn(count, nodes, 32, generator=torch.Generator().manual_seed(1))


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
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_layers": 2},
        {"expansion": 0.5},
        {"feature_expansion": 1.5},
        {"classes": 19},
        {"classes": 32},
    ],
)
def test_it_equals_the_layers(kind: str, settings: dict[str, object]) -> None:
    model = make_model(aggregation=kind, **settings)  # type: ignore[arg-type]
    with torch.no_grad():
        folded, tokens = fold(model), random_tokens()
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
        {"classes": 33},
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


@pytest.mark.parametrize("summary", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("labels", [False, True])
def test_a_model_predicts_the_same_with_and_without_gradients(
    summary: bool, num_layers: int, labels: bool
) -> None:
    data = csbm(num_nodes=60, num_classes=3, num_features=8)
    model = make_model(summary=summary, num_layers=num_layers, label_tokens=labels)
    model.show_labels(torch.where(torch.arange(60) < 30, data.y, -1))
    expected = model(data).detach()
    with torch.no_grad():
        torch.testing.assert_close(model(data), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cut", [1, 5, 12, 13])
def test_a_node_doesnt_depend_on_those_beside_it(cut: int) -> None:
    model, tokens = make_model(), random_tokens(nodes=31)
    with torch.no_grad():
        folded = fold(model)
        assert folded is not None
        expected = folded(tokens)
        parts = [folded(part) for part in torch.split(tokens, cut, dim=1)]
    # BLAS rounds by the position of a row
    torch.testing.assert_close(torch.cat(parts), expected, rtol=1e-6, atol=1e-6)


def jit_cases() -> dict[str, np.ndarray]:
    with torch.no_grad():
        logits = make_model(summary=True)(csbm(num_nodes=60, num_classes=3, num_features=8))
    return {"logits": logits.numpy()}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    logits = jit_cases()["logits"]
    assert logits.shape == (60, 3)
    np.testing.assert_allclose(without_jit["logits"], logits, rtol=1e-4, atol=1e-5)


def test_nan_stays_nan() -> None:
    model = make_model()
    with torch.no_grad():
        folded, tokens = fold(model), random_tokens()
        assert folded is not None
        tokens[0, 0] = float("nan")
        found = folded(tokens)
    assert found[0].isnan().all()
    assert found[1:].isfinite().all()
