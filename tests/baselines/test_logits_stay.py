"""Every model's logits and weights are those of the version that its published numbers come from.

The fixtures have the logits of each registered model as it is built with seed 0 and after four
epochs of training, and the names and shapes of its weights, with features and without: a model
that was saved must load. A model that was added later has the values of the version that added it,
and HeroFilter those of the version that made polynomial filters its default; ``spectral`` is
HeroFilter as it was before.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from herofilter.baselines.propagated_mlp import PropagatedMLP
from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.nn import NodeClassifier, find_model, list_models
from herofilter.training import predict_logits, prepare, seeded
from herofilter.training.recipe import train_split

FIXTURES = Path(__file__).parents[1] / "fixtures"
# the settings that the fixture was made with
CONFIG = Config().replace(
    epochs=4,
    hidden_channels=16,
    feature_expansion=1.0,
    dropout=0.5,
    input_dropout=0.5,
    drop_path=0.0,
    weight_decay=5e-3,
    feature_scaling="none",
)
with np.load(FIXTURES / "model-logits.npz") as _archive:
    LOGITS = dict(_archive)
WEIGHTS = json.loads((FIXTURES / "model-weights.json").read_text())
MODELS = sorted({key.split("/")[0] for key in LOGITS})


def model_config(key: str) -> tuple[str, Config]:
    """Return the model of a key of the fixture, and its settings."""
    return (
        ("herofilter", CONFIG.replace(patcher="spectral")) if key == "spectral" else (key, CONFIG)
    )


def graph() -> Data:
    return csbm(num_nodes=60, num_classes=3, heterophily=0.6, num_features=8, directed=True)


def assert_unchanged(found: np.ndarray, key: str) -> None:
    # other machines add up in another order, and kernels of old versions do; training magnifies it
    old = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10)
    np.testing.assert_allclose(found, LOGITS[key], rtol=1e-4, atol=5e-3 if old else 1e-5)


def test_the_fixture_names_registered_models() -> None:
    assert set(MODELS) - {"spectral"} <= {entry.name for entry in list_models()}
    assert len(MODELS) == 29
    assert sorted(WEIGHTS) == MODELS


@pytest.mark.parametrize("key", MODELS)
def test_logits_at_the_start(key: str) -> None:
    name, config = model_config(key)
    prepared = prepare(graph(), config, name)
    with seeded(0):
        model = find_model(name).build(prepared, config)
    assert_unchanged(predict_logits(model, select_split(prepared, 0)).numpy(), f"{key}/start")


@pytest.mark.parametrize("key", MODELS)
def test_logits_after_training(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    # at that time HeroFilter's filter had this rate, and those of baselines decayed with the rest
    name, config = model_config(key)
    config = config.replace(filter_lr=1e-3)
    monkeypatch.setattr(PropagatedMLP, "filter_parameters", NodeClassifier.filter_parameters)
    prepared = prepare(graph(), config, name)
    model, _ = train_split(prepared, name, config, 0)
    assert_unchanged(predict_logits(model, select_split(prepared, 0)).numpy(), f"{key}/trained")


@pytest.mark.parametrize("case", ["plain", "featureless"])
@pytest.mark.parametrize("key", MODELS)
def test_names_and_shapes_of_weights(key: str, case: str) -> None:
    name, config = model_config(key)
    data = graph()
    if case == "featureless":
        del data.x
    model = find_model(name).build(prepare(data, config, name), config)
    found = {entry: list(value.shape) for entry, value in model.state_dict().items()}
    assert found == WEIGHTS[key][case]
