"""Features are standardised by what the training nodes have, once, wherever a model meets them."""

import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config
from herofilter.data import csbm, load_graph_folder, save_graph_folder, select_split, to_sparse
from herofilter.errors import GraphError, OutOfMemoryError
from herofilter.nn import find_model
from herofilter.nn.graph_defaults import resolve_defaults
from herofilter.settings import TrainConfig
from herofilter.training import predict_logits, prepare_features, train, train_splits
from herofilter.training.artifacts.weights import load_weights, weights_of
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor
from herofilter.training.prepare import fit_scaler
from tests.training.graphs import SMALL, linear, one_split

# a function of the same name hides the module
PREPARING = sys.modules["herofilter.training.prepare"]
STANDARD = TrainConfig(epochs=2, feature_scaling="standard")


def skewed() -> Data:
    """Return a graph with columns on different scales, the last one constant."""
    data = one_split()
    data.x = data.x * torch.linspace(0.1, 50, 32) + torch.linspace(-100, 100, 32)
    data.x[:, 31] = 7.0
    return data


def test_columns_have_mean_zero_and_deviation_one_on_the_training_nodes() -> None:
    data = skewed()
    nodes = data.train_mask.nonzero().view(-1)
    scaled = fit_scaler(data.x, nodes)(data.x)
    expected = (data.x - data.x[nodes].mean(0)) / data.x[nodes].std(0, correction=0)
    torch.testing.assert_close(scaled[:, :31], expected[:, :31], rtol=1e-4, atol=1e-4)
    # no training node says how to scale it
    assert not scaled[:, 31].any()
    other = data.x.clone()
    other[~data.train_mask, 31] = 8.0
    assert not fit_scaler(other, nodes)(other)[:, 31].any()


def test_rows_may_be_added_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, nodes = skewed().x, torch.arange(0, 80, 3)
    whole = fit_scaler(x, nodes)
    monkeypatch.setattr(PREPARING, "STATISTICS_BYTES", 8 * 32 * 4)
    parts = fit_scaler(x, nodes)
    torch.testing.assert_close(parts.mean, whole.mean)
    torch.testing.assert_close(parts.scale, whole.scale)
    assert not torch.equal(parts.scale, torch.ones(32))


def test_only_training_nodes_have_a_say() -> None:
    data, other = skewed(), skewed()
    other.x[~other.train_mask] = 1000 * torch.rand(int((~other.train_mask).sum()), 32)
    states = []
    for given in (data, other):
        model = linear()
        train(model, given, STANDARD)
        states.append(model.state_dict())
    for key in ("scaler.mean", "scaler.scale"):
        assert torch.equal(states[0][key], states[1][key])
    other.x[data.train_mask] += 1
    model = linear()
    train(model, other, STANDARD)
    assert not torch.equal(model.state_dict()["scaler.mean"], states[0]["scaler.mean"])


def test_units_do_not_matter() -> None:
    data, other = one_split(), one_split()
    other.x = other.x * 1024 + 4096
    logits = []
    for given in (data, other):
        model = linear()
        train(model, given, STANDARD)
        logits.append(predict_logits(model, given))
    torch.testing.assert_close(logits[0], logits[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["herofilter", "gcn", "appnp", "nagphormer", "mlp"])
def test_a_call_with_the_graph_as_it_was_read_standardises_once(name: str) -> None:
    data = skewed()
    model = find_model(name).build(data, SMALL)
    train(model, data, STANDARD)
    with torch.no_grad():
        found = model.eval()(data)
        torch.testing.assert_close(found, predict_logits(model, data))
        # what the model gets is what it got in training, and no more than once
        torch.testing.assert_close(model(model.scale_features(data)), found)
    nodes = data.train_mask.nonzero().view(-1)
    torch.testing.assert_close(model.scale_features(data).x, fit_scaler(data.x, nodes)(data.x))
    assert model.scale_features(model.scale_features(data)).x is not data.x


def test_features_of_another_model_are_refused() -> None:
    data, other = skewed(), skewed()
    other.x += 1
    models = [linear(), linear()]
    for model, given in zip(models, (data, other), strict=True):
        train(model, given, STANDARD)
    with pytest.raises(GraphError) as caught:
        models[1](models[0].scale_features(data))
    assert str(caught.value) == (
        "the features must be as they were read (got some that were standardised for another "
        "model); give the graph as it was before"
    )


def test_the_scaler_goes_with_the_weights() -> None:
    data = skewed()
    model, plain = linear(), linear()
    train(model, data, STANDARD)
    train(plain, data, TrainConfig(epochs=2, feature_scaling="none"))
    assert "scaler.mean" not in plain.state_dict()
    new = linear()
    new.load_state_dict(model.state_dict())
    other = linear()
    load_weights(other, weights_of(model))
    for loaded in (new, other):
        assert torch.equal(predict_logits(loaded, data), predict_logits(model, data))
    # a state without one takes it away
    new.load_state_dict(plain.state_dict())
    assert new.scaler is None
    assert torch.equal(predict_logits(new, data), predict_logits(plain, data))


@pytest.mark.parametrize("model", ["herofilter", "gcn"])
def test_new_nodes_are_scaled_like_training_nodes(tmp_path: Path, model: str) -> None:
    data = with_validation(skewed(), 0.3)
    fit = fit_model(data, ("a", "b", "c"), model, SMALL.replace(feature_scaling="standard"))
    fit.save(tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    # isolated new nodes, far from the others: the statistics must not move
    x = torch.cat([data.x, torch.full((40, 32), 500.0)])
    extended = Data(x=x, edge_index=data.edge_index, num_nodes=120)
    scaler = loaded.on(extended).network.scaler
    assert scaler is not None
    nodes = fit.saved.training_graph.data.train_mask.nonzero().view(-1)
    assert torch.equal(scaler.mean, fit_scaler(data.x, nodes).mean)
    found = loaded.on(extended).predict_proba()
    expected = loaded.predict_proba()
    torch.testing.assert_close(found[:80], expected, rtol=1e-3, atol=1e-3)


def test_auto_leaves_bags_of_words_and_degrees_alone(tmp_path: Path) -> None:
    def chosen(data: Data) -> str:
        return resolve_defaults(data, Config()).train.feature_scaling

    data = one_split()
    assert chosen(data) == "standard"
    assert chosen(prepare_features(data)) == "standard"
    words = data.clone()
    words.x = (data.x > 1).float()
    assert chosen(words) == "none"
    assert chosen(prepare_features(words)) == "none"
    without = data.clone()
    without.x = None
    assert chosen(without) == "none"
    assert chosen(prepare_features(without)) == "none"
    for given in (data, words):
        save_graph_folder(given, tmp_path / str(id(given)))
        assert chosen(load_graph_folder(tmp_path / str(id(given)))) == chosen(given)
    data.x = to_sparse(data.x)
    assert chosen(data) == "none"
    given = Config().replace(feature_scaling="rows")
    assert resolve_defaults(one_split(), given).train.feature_scaling == "rows"


def test_a_run_says_what_it_chose() -> None:
    dense = csbm(num_nodes=60, num_classes=3)
    words = dense.clone()
    words.x = (dense.x > 1).float()
    for data, expected in ((dense, "standard"), (words, "none")):
        summary = train_splits(data, "mlp", SMALL.replace(epochs=1))
        assert summary["config"]["train"]["feature_scaling"] == expected


def test_sparse_features_become_dense_if_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = select_split(csbm(num_nodes=60, num_classes=3), 0)
    data.x = torch.where(data.x > 1, data.x, 0.0)
    sparse = data.clone()
    sparse.x = to_sparse(data.x)
    logits = []
    for given in (data, sparse):
        model = linear()
        train(model, given, STANDARD)
        logits.append(predict_logits(model, given))
    assert torch.equal(logits[0], logits[1])
    monkeypatch.setattr("herofilter.memory.free_memory", lambda: 1000)
    with pytest.raises(OutOfMemoryError) as caught:
        train(linear(), sparse, STANDARD)
    assert str(caught.value) == (
        "the matrix of standardised features of 60 nodes, which is dense, needs 7.5 KiB "
        "(1000 B are free); set feature_scaling=none"
    )
