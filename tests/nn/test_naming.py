"""What a configuration is called: HeroFilter only with a learned filter, a patch and a mixer."""

from typing import Any

import pytest
import torch

from herofilter.config import Config, paper_config
from herofilter.nn.naming import model_title
from herofilter.spectral import FILTERS


def title(model: str = "herofilter", **settings: Any) -> str:
    return model_title(model, Config().replace(**settings))


def test_herofilter_has_all_three_parts() -> None:
    assert title() == "HeroFilter"
    assert title(patcher="spectral", patch_size=5, num_layers=1) == "HeroFilter"
    assert model_title("herofilter", paper_config()) == "HeroFilter"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"patcher": "fast"}, "fast-herofilter"),
        ({"learn_filter": False}, "fixed-filter-mixer"),
        ({"filter": "ppr"}, "fixed-filter-mixer"),
        ({"filter": "gcn", "directed": "symmetrise"}, "fixed-filter-mixer"),
        ({"patch_size": 4}, "summary-mixer"),
        ({"patch_size": 4, "summary": False}, "patch-mixer"),
        ({"num_layers": 0}, "patch-mlp"),
        ({"patch_mixing": False}, "patch-mlp"),
        ({"feature_mixing": False}, "patch-mlp"),
        ({"patcher": "fast", "num_layers": 0}, "patch-mlp"),
        ({"patch_size": 1, "num_layers": 0}, "summary-mlp"),
        ({"patch_size": 4, "num_layers": 0}, "summary-mlp"),
        ({"patch_size": 4, "num_layers": 0, "summary": False}, "patch-mlp"),
        ({"patch_size": 1, "num_layers": 0, "summary": False}, "mlp"),
        ({"patch_size": 1, "summary": False}, "mlp"),
    ],
)
def test_without_one_of_them_it_has_another_name(settings: dict[str, Any], expected: str) -> None:
    assert title(**settings) == expected


def test_the_fast_model_never_learns_its_filter() -> None:
    assert title("fast-herofilter") == "fast-herofilter"
    assert title("fast-herofilter", patcher="spectral") == "fast-herofilter"
    assert title("fast-herofilter", num_layers=0) == "patch-mlp"


@pytest.mark.parametrize("model", ["mlp", "gcn", "gprgnn"])
def test_a_baseline_keeps_its_name(model: str) -> None:
    assert title(model, num_layers=0, patch_size=1) == model


@pytest.mark.parametrize("name", FILTERS)
def test_only_filters_with_weights_are_learned(name: str) -> None:
    learned = FILTERS[name]().initial_weights(torch.linspace(-1, 1, 7)).numel() > 0
    assert (title(filter=name) == "HeroFilter") == learned
