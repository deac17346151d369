"""Every model's logits are those of the version that its published numbers come from.

The fixture has the logits of each registered model as it is built with seed 0, and after four
epochs of training. A model that is added later has none until they are added to it.
"""

from pathlib import Path

import numpy as np
import pytest
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.nn import find_model, list_models
from herofilter.training import predict_logits, prepare, seeded
from herofilter.training.protocol import train_split

FIXTURE = Path(__file__).parents[1] / "fixtures" / "model-logits.npz"
CONFIG = Config().replace(epochs=4, hidden_channels=16)
with np.load(FIXTURE) as _archive:
    LOGITS = dict(_archive)
MODELS = sorted({key.split("/")[0] for key in LOGITS})


def graph() -> Data:
    return csbm(num_nodes=60, num_classes=3, heterophily=0.6, num_features=8, directed=True)


def assert_unchanged(found: np.ndarray, key: str) -> None:
    # other machines add up in another order
    np.testing.assert_allclose(found, LOGITS[key], rtol=1e-4, atol=1e-5)


def test_the_fixture_names_registered_models() -> None:
    assert set(MODELS) <= {entry.name for entry in list_models()}
    assert len(MODELS) == 24


@pytest.mark.parametrize("name", MODELS)
def test_logits_at_the_start(name: str) -> None:
    prepared = prepare(graph(), CONFIG, name)
    with seeded(0):
        model = find_model(name).build(prepared, CONFIG)
    assert_unchanged(predict_logits(model, select_split(prepared, 0)).numpy(), f"{name}/start")


@pytest.mark.parametrize("name", MODELS)
def test_logits_after_training(name: str) -> None:
    prepared = prepare(graph(), CONFIG, name)
    model, _ = train_split(prepared, name, CONFIG, 0)
    assert_unchanged(predict_logits(model, select_split(prepared, 0)).numpy(), f"{name}/trained")
