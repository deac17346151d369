"""Boosted trees in training: what they gain by neighbours, stopping, time, seeds, weights."""

import sys
import time

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch_geometric.data import Data

from herofilter.baselines import Booster
from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.data.synthetic.weak_features import weak_features_graph
from herofilter.errors import MissingExtraError
from herofilter.nn import find_model
from herofilter.training import TrainResult, boosting, prepare, train
from tests.awkward import AWKWARD

NAMES = ["booster", "neighbour-booster"]


def run(
    name: str, data: Data, config: Config | None = None, seconds: float | None = None
) -> tuple[Booster, TrainResult]:
    config = config or Config()
    data = select_split(prepare(data, config, name), 0)
    model = find_model(name).build(data, config)
    assert isinstance(model, Booster)
    deadline = None if seconds is None else time.perf_counter() + seconds
    return model, train(model, data, config.train, deadline=deadline)


@pytest.fixture(scope="module")
def weak() -> Data:
    return weak_features_graph(num_nodes=2000)


def test_known_neighbours_help_where_columns_are_weak(weak: Data) -> None:
    own, near = (run(name, weak)[1].test for name in NAMES)
    assert own.auc is not None
    assert near.auc is not None
    assert near.auc > own.auc + 0.1
    assert near.accuracy > 0.78


@pytest.mark.parametrize("graph", AWKWARD)
@pytest.mark.parametrize("name", NAMES)
def test_awkward_graphs_train(name: str, graph: str) -> None:
    data = AWKWARD[graph]()
    config = Config().replace(epochs=12)
    prepared = prepare(data, config, name)
    model = find_model(name).build(prepared, config)
    result = train(model, prepared, config.train)
    assert 1 <= len(result.history) <= 12
    logits = model.eval()(model.scale_features(prepared))
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(len(logits)))


def test_one_training_class_is_predicted() -> None:
    data = select_split(csbm(60, 3, seed=1), 0)
    data.train_mask &= data.y == 2
    model = find_model("booster").build(data, Config())
    train(model, data)
    assert model.trees.rounds == 0
    assert set(model(data).argmax(1).tolist()) == {2}


def test_trees_are_those_of_one_call_of_scikit_learn(weak: Data) -> None:
    data = select_split(weak, 0).clone()
    # fewer different values than bins, so that no quantiles are needed
    data.x = (data.x.clamp(-5, 5) * 10).round() / 8
    config = Config().replace(feature_scaling="none", epochs=25, patience=10)
    model, result = run("booster", data, config)
    assert len(result.history) > 12
    nodes = data.train_mask.nonzero().view(-1)
    expected = HistGradientBoostingClassifier(
        max_iter=result.best_epoch + 1,
        early_stopping=False,
        min_samples_leaf=5,
        random_state=0,
    ).fit(data.x[nodes].double().numpy(), data.y[nodes].numpy())
    found = model.trees.scores(model.table(data))[:, 0]
    np.testing.assert_array_equal(found, expected.decision_function(data.x.double().numpy()))


@pytest.mark.parametrize("monitor", ["loss", "accuracy", "auc"])
def test_validation_chooses_the_number_of_rounds(weak: Data, monitor: str) -> None:
    model, result = run("neighbour-booster", weak, Config().replace(monitor=monitor))
    losses = [epoch.val_loss for epoch in result.history]
    assert model.trees.rounds == result.best_epoch + 1 < len(losses)
    assert len(losses) == result.best_epoch + 1 + boosting.PATIENCE
    if monitor != "auc":
        assert result.best_epoch == int(np.argmin(losses))
    assert result.val.loss == pytest.approx(losses[result.best_epoch], rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_and_any_number_of_calls_give_equal_bits(
    name: str, weak: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config().replace(epochs=12)
    first, _ = run(name, weak, config)
    again, _ = run(name, weak, config)
    monkeypatch.setattr(boosting, "_FEW_ROUNDS", 1)
    monkeypatch.setattr(boosting, "_MANY_ROUNDS", 2)
    third, _ = run(name, weak, config)
    for other in (again, third):
        state = other.state_dict()
        assert all(torch.equal(value, state[key]) for key, value in first.state_dict().items())


def test_a_deadline_is_kept(weak: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "PATIENCE", 10**6)
    config = Config().replace(epochs=10**6, patience=10**6)
    run("neighbour-booster", weak, Config().replace(epochs=2))  # compiled before the clock runs
    model, result = run("neighbour-booster", weak, config, seconds=1.5)
    assert result.seconds < 3.0
    assert len(result.history) > 3
    assert model.trees.rounds == result.best_epoch + 1
    assert not result.interrupted
    # even without time there is a model
    model, result = run("neighbour-booster", weak, config, seconds=0.0)
    assert len(result.history) == model.trees.rounds == 1


def test_a_deadline_ends_other_models_as_well() -> None:
    data = select_split(csbm(200, 3, seed=1), 0)
    model = find_model("mlp").build(data, Config())
    result = train(model, data, deadline=time.perf_counter() - 1)
    assert len(result.history) == 1


def test_class_weights_raise_the_recall_of_the_rare_class(weak: Data) -> None:
    reports = [
        run("neighbour-booster", weak, Config().replace(class_weights=weights))[1].report
        for weights in (False, True)
    ]
    recall = [report["classes"][1]["recall"] for report in reports]
    assert recall[1] > recall[0] + 0.1
    assert reports[1]["balanced_accuracy"] > reports[0]["balanced_accuracy"]


def test_each_round_is_an_event_and_ctrl_c_keeps_the_best(weak: Data) -> None:
    events: list[Event] = []

    def stop(event: Event) -> None:
        events.append(event)
        if event.done == 5:
            raise KeyboardInterrupt

    data = select_split(weak, 0)
    model = find_model("booster").build(data, Config())
    result = train(model, data, callback=stop)
    assert result.interrupted
    assert [event.done for event in events] == [1, 2, 3, 4, 5]
    assert model.trees.rounds == result.best_epoch + 1


def test_without_scikit_learn_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    data = select_split(csbm(60, 3, seed=1), 0)
    model = find_model("booster").build(data, Config())
    with pytest.raises(MissingExtraError) as caught:
        train(model, data)
    assert str(caught.value) == (
        "training a booster needs the optional part 'tables', which isn't installed; "
        'install it with: pip install "herofilter[tables]"'
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_ten_columns_of_twelve_thousand_nodes_take_seconds(name: str) -> None:
    data = weak_features_graph()
    run(name, weak_features_graph(num_nodes=500))
    _, result = run(name, data)
    # 1 s on a free core
    assert result.seconds < 10
