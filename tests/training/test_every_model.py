"""What a user may do with any registered model: batches, options, save and load, other graphs."""

import dataclasses
import itertools
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.errors import GraphError
from herofilter.nn import find_model, list_models
from herofilter.settings import BaselineConfig
from herofilter.training import prepare, seeded, train
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor
from herofilter.training.search.space import make_space
from herofilter.training.search.suggest import DefaultSuggester

MODELS = [entry.name for entry in list_models()]
QUICK = Config().replace(patch_size=4, hidden_channels=16, epochs=3)
# it learns a weight for every node of the graph
ONE_GRAPH = {"linkx"}


def graph(num_nodes: int = 80, seed: int = 3) -> Data:
    return csbm(num_nodes=num_nodes, num_classes=3, average_degree=5, seed=seed)


@pytest.mark.parametrize("name", MODELS)
def test_the_registry_says_what_the_model_does(name: str) -> None:
    entry = find_model(name)
    data = prepare(graph(), QUICK, name)
    with seeded(0):
        model = entry.build(data, QUICK)
    assert entry.batches != model.full_batch
    assert entry.paper
    assert entry.needs
    known = {field.name for field in dataclasses.fields(BaselineConfig)}
    assert set(entry.options) <= known


@pytest.mark.parametrize("name", [name for name in MODELS if find_model(name).options])
def test_every_option_matters(name: str) -> None:
    data = select_split(prepare(graph(), QUICK, name), 0)
    for key, values in find_model(name).options.items():
        found = []
        for value in values:
            with seeded(0):
                model = find_model(name).build(data, QUICK.replace(**{key: value}))
            train(model, data, QUICK.train)
            # Polynormer attends to all nodes after so many steps
            model.train()
            for _ in range(60 if name == "polynormer" else 0):
                model(data)
            found.append(model.eval()(data).detach())
        for left, right in itertools.pairwise(found):
            assert not torch.equal(left, right), f"{key} has no say in {name}"


@pytest.mark.parametrize("name", MODELS)
def test_a_search_suggests_the_options_of_the_model(name: str) -> None:
    suggester = DefaultSuggester()
    make_space("wide", name, graph()).suggest(suggester)
    assert set(find_model(name).options) <= set(suggester.taken)


@pytest.mark.parametrize("name", MODELS)
def test_saved_and_loaded_it_says_the_same(name: str, tmp_path: Path) -> None:
    data = with_validation(graph(), 0.3)
    fit = fit_model(data, ("a", "b", "c"), name, QUICK)
    before = fit.predict_proba()
    fit.save(tmp_path / "model")
    again = Predictor.load(tmp_path / "model")
    assert torch.equal(again.predict_proba(), before)
    torch.testing.assert_close(before.sum(1), torch.ones(80, dtype=torch.float64))


@pytest.mark.parametrize("name", MODELS)
def test_another_graph_is_predicted_or_refused(name: str) -> None:
    data = with_validation(graph(), 0.3)
    fit = fit_model(data, ("a", "b", "c"), name, QUICK)
    other = graph(60, seed=4)
    del other.y
    if name in ONE_GRAPH:
        with pytest.raises(GraphError, match="learns a vector per node, the same nodes"):
            fit.on(other).predict_proba()
        return
    found = fit.on(other).predict_proba()
    assert found.shape == (60, 3)
    assert torch.isfinite(found).all()


@pytest.mark.parametrize("name", MODELS)
def test_mini_batches_train(name: str) -> None:
    data = select_split(graph(), 0)
    config = QUICK.replace(batch_size=16)
    prepared = prepare(data, config, name)
    with seeded(0):
        model = find_model(name).build(prepared, config)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    result = train(model, prepared, config.train)
    assert len(result.history) == 3
    after = model.state_dict()
    assert any(not torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("name", MODELS)
def test_only_training_labels_are_read(name: str) -> None:
    """Whatever the other labels are, weights and predictions stay the same to the last bit."""
    data = select_split(graph(), 0)
    config = QUICK.replace(batch_size=16, label_tokens=True)
    outcomes = []
    for shift in (0, 1):
        moved = data.clone()
        moved.y = torch.where(data.train_mask | data.val_mask, data.y, (data.y + shift) % 3)
        prepared = prepare(moved, config, name)
        with seeded(0):
            model = find_model(name).build(prepared, config)
        train(model, prepared, config.train)
        model.eval()
        outcomes.append(model(prepared).detach())
    assert torch.equal(*outcomes)
