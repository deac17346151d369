import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from herofilter.callbacks import Event
from herofilter.config import Config
from herofilter.data import csbm
from herofilter.errors import GraphError, RunError
from herofilter.nn import HeroFilter, NodeClassifier, find_model
from herofilter.nn.dropout import Dropout
from herofilter.settings import TrainConfig
from herofilter.training import (
    Epoch,
    TrainResult,
    evaluate,
    predict_logits,
    prepare,
    seeded,
    train,
)
from herofilter.training.metrics import class_weights
from herofilter.training.optimizers import make_optimizers
from tests.training.graphs import Linear, copies, graph, hero, linear, one_split

SHORT = TrainConfig(epochs=12, refresh_every=5)


def same_state(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def outcome(
    data: Data, config: TrainConfig = SHORT, make: Callable[[Data], NodeClassifier] = hero
) -> tuple[TrainResult, dict[str, Tensor]]:
    model = make(data)
    return train(model, data, config), copies(model)


def contrary(data: Data) -> Data:
    """Return a graph on which learning makes validation worse: the best epoch comes early."""
    changed = data.clone()
    changed.y[data.val_mask] = (data.y[data.val_mask] + 1) % 3
    return changed


# what is recorded


def test_the_history_has_the_filters_by_which_patches_were_chosen_anew() -> None:
    data = one_split()
    model, seen = hero(data), {}

    def watch(event: Event) -> None:
        # the filters after this epoch are those of the choice before the next
        seen[event.done] = model.filter_snapshot()

    result = train(model, data, dataclasses.replace(SHORT, epochs=18), watch)
    chosen = {epoch.epoch: epoch.filters for epoch in result.history if epoch.filters}
    assert set(chosen) == {5, 15}
    assert all(chosen[epoch] == seen[epoch] for epoch in chosen)
    assert chosen[5] != chosen[15]
    assert {len(curve) for curve in chosen[5].values()} == {min(41, data.num_nodes)}
    assert "filters" in result.history[5].to_dict()
    assert "filters" not in result.history[6].to_dict()


# the best state


def test_the_model_is_left_in_its_best_state() -> None:
    data, states = contrary(one_split()), []
    model = hero(data)
    config = dataclasses.replace(SHORT, epochs=25, lr=0.05, monitor="loss")
    result = train(model, data, config, lambda epoch: states.append(copies(model)))
    losses = [epoch.val_loss for epoch in result.history]
    assert result.best_epoch == losses.index(min(losses)) < len(losses) - 1
    assert not same_state(states[result.best_epoch], states[-1])
    assert same_state(copies(model), states[result.best_epoch])
    assert result.val.loss == min(losses)
    assert result.val == evaluate(model, data, data.val_mask.nonzero().view(-1))
    assert result.test == evaluate(model, data, data.test_mask.nonzero().view(-1))


def test_patience_ends_training() -> None:
    config = TrainConfig(epochs=200, patience=4, monitor="loss")
    result, _ = outcome(contrary(one_split()), config)
    assert len(result.history) == result.best_epoch + 5 < 200
    assert [epoch.epoch for epoch in result.history] == list(range(len(result.history)))


def test_accuracy_and_loss_choose_different_epochs() -> None:
    data = one_split()
    config = TrainConfig(epochs=60, patience=60, lr=0.1, weight_decay=0.0)
    by_accuracy = train(linear(), data, config)
    by_loss = train(linear(), data, dataclasses.replace(config, monitor="loss"))
    assert by_accuracy.history == by_loss.history
    best = max(by_accuracy.history, key=lambda epoch: (epoch.val_accuracy, -epoch.val_loss))
    assert by_accuracy.best_epoch == best.epoch
    assert by_loss.best_epoch == min(by_loss.history, key=lambda epoch: epoch.val_loss).epoch
    assert by_accuracy.best_epoch != by_loss.best_epoch


def test_the_best_epoch_by_auc_is_kept() -> None:
    data = contrary(one_split())
    nodes = data.val_mask.nonzero().view(-1)
    config = TrainConfig(epochs=40, patience=40, lr=0.1, weight_decay=0.0, monitor="auc")
    model, seen = linear(), []

    def note(event: Event) -> None:
        found = evaluate(model, data, nodes)
        seen.append((found.auc, -found.loss))

    result = train(model, data, config, note)
    assert result.best_epoch == max(range(40), key=seen.__getitem__)
    assert result.val == evaluate(model, data, nodes)
    assert result.val.auc == max(seen)[0]
    by_accuracy = train(linear(), data, dataclasses.replace(config, monitor="accuracy"))
    assert by_accuracy.best_epoch != result.best_epoch


# the optimiser


def test_filter_weights_have_their_own_rate_and_no_decay() -> None:
    model = hero(one_split())
    config = TrainConfig(lr=0.3, filter_lr=0.2, weight_decay=0.1)
    others, filters = make_optimizers(model, config)[0].param_groups
    assert (others["lr"], others["weight_decay"]) == (0.3, 0.1)
    assert (filters["lr"], filters["weight_decay"]) == (0.2, 0.0)
    own = {id(weight) for weight in model.patcher.weights}
    assert {id(weight) for weight in filters["params"]} == own
    listed = [id(weight) for group in (others, filters) for weight in group["params"]]
    assert sorted(listed) == sorted(id(weight) for weight in model.parameters())


def test_a_model_without_filters_has_one_group() -> None:
    assert len(make_optimizers(linear(), TrainConfig())[0].param_groups) == 1


def test_the_filter_moves_at_its_rate() -> None:
    data, starts = one_split(), []
    for rate in (1e-3, 1e-1):
        model = hero(data)
        # the read-out starts at the node alone, and nothing else has a gradient before it moves
        nn.init.ones_(model.aggregate.weight)
        before = model.patcher.weights[0].detach().clone()
        train(model, data, TrainConfig(epochs=1, filter_lr=rate, weight_decay=0.5))
        starts.append(float((model.patcher.weights[0].detach() - before).abs().max()))
    # Adam's first step is as long as the rate
    assert starts == pytest.approx([1e-3, 1e-1], rel=0.05)


def test_class_weights_enter_the_loss() -> None:
    data = one_split()
    # an unbalanced training set, or the weights would all be one
    data.train_mask &= (data.y != 2) | (torch.arange(80) % 3 == 0)
    nodes = data.train_mask.nonzero().view(-1)
    model = linear()
    weight = class_weights(data.y[nodes], 3)
    assert float(weight.max()) > 1.5 * float(weight.min())
    logits = model(data, nodes)
    expected = nn.functional.cross_entropy(logits, data.y[nodes], weight=weight)
    plain = nn.functional.cross_entropy(logits, data.y[nodes])
    config = TrainConfig(epochs=1, class_weights=True, feature_scaling="none")
    weighed = train(linear(), data, config).history[0].train_loss
    assert weighed == pytest.approx(float(expected.detach()), rel=1e-6)
    assert weighed != pytest.approx(float(plain.detach()), rel=1e-4)


class Pulled(Linear):
    """A linear model with a loss of its own, which pulls its bias upwards."""

    def auxiliary_loss(self) -> Tensor:
        return 100 - 10 * self.layer.bias.sum()


def test_a_loss_of_the_model_is_added() -> None:
    data, config = one_split(), TrainConfig(epochs=1, lr=0.02, weight_decay=0.0)
    plain, pulled = linear(), Pulled()
    pulled.load_state_dict(plain.state_dict())
    start = plain.layer.bias.detach().clone()
    losses = [train(model, data, config).history[0].train_loss for model in (plain, pulled)]
    assert losses[1] == pytest.approx(losses[0] + 100 - 10 * float(start.sum()), rel=1e-6)
    # the gradients of cross-entropy add up to zero over the classes: they can't all point down
    moved = [(model.layer.bias.detach() - start).tolist() for model in (plain, pulled)]
    assert min(moved[0]) < 0
    assert moved[1] == pytest.approx([0.02] * 3, rel=1e-3)


def test_class_weights_when_the_model_knows_a_class_more() -> None:
    result = train(Linear(32, 4), one_split(), TrainConfig(epochs=1, class_weights=True))
    assert len(result.history) == 1


# batches


def test_every_training_node_is_visited_once_per_epoch() -> None:
    data, model = one_split(), linear()
    nodes = data.train_mask.nonzero().view(-1)
    train(model, data, TrainConfig(epochs=3, batch_size=16))
    per_epoch = -(-nodes.numel() // 16)
    assert len(model.seen) == 3 * per_epoch
    orders = []
    for start in range(0, len(model.seen), per_epoch):
        order = torch.cat(model.seen[start : start + per_epoch])
        assert torch.equal(order.sort().values, nodes)
        orders.append(order)
    assert not torch.equal(orders[0], orders[1])


@pytest.mark.parametrize("batch_size", [0, 10_000])
def test_one_batch_holds_all_nodes(batch_size: int) -> None:
    data, model = one_split(), linear()
    train(model, data, TrainConfig(epochs=2, batch_size=batch_size))
    assert [seen.numel() for seen in model.seen] == [int(data.train_mask.sum())] * 2


def test_the_loss_of_an_epoch_is_a_mean_over_nodes() -> None:
    data = one_split()
    config = TrainConfig(epochs=1, lr=1e-12, batch_size=7)
    whole = train(linear(), data, dataclasses.replace(config, batch_size=0)).history[0].train_loss
    assert train(linear(), data, config).history[0].train_loss == pytest.approx(whole, rel=1e-5)


# repeats


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch_size", [0, 20])
def test_repeats_are_the_same_to_the_bit(
    threads: int, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # or a graph as small as this one would get one thread only
    monkeypatch.setattr("herofilter.parallel.threads.SMALL", 0)
    before = torch.get_num_threads()
    data = one_split()
    config = TrainConfig(epochs=4, refresh_every=2, batch_size=batch_size)
    try:
        torch.set_num_threads(threads)
        outcomes = []
        for _ in range(2):
            torch.rand(3)  # the caller's random state must not matter
            outcomes.append(outcome(data, config))
    finally:
        torch.set_num_threads(before)
    (first, state), (second, again) = outcomes
    assert first.history == second.history
    assert (first.train, first.val, first.test) == (second.train, second.val, second.test)
    assert same_state(state, again)


def test_seeds_differ() -> None:
    data = one_split()
    first, second = (outcome(data, dataclasses.replace(SHORT, seed=seed))[0] for seed in (0, 1))
    assert first.history != second.history


@pytest.mark.parametrize("batch_size", [0, 9])
def test_global_state_is_left_alone(batch_size: int) -> None:
    data = one_split()
    model = hero(data)
    torch.manual_seed(8)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train(model, data, dataclasses.replace(SHORT, batch_size=batch_size))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == threads
    assert all(layer.generator is None for layer in model.modules() if isinstance(layer, Dropout))


def test_the_graph_is_left_alone() -> None:
    data = one_split()
    before = data.clone()
    train(hero(data), data, TrainConfig(epochs=2, feature_scaling="rows"))
    assert all(torch.equal(before[key], data[key]) for key in ("x", "y", "edge_index", "val_mask"))


@pytest.mark.parametrize(("small", "inside"), [(0, 2), (80, 1)])
def test_a_small_graph_gets_one_thread(
    small: int, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herofilter.parallel.threads.SMALL", small)
    before, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(2)
        train(
            linear(),
            one_split(),
            TrainConfig(epochs=1),
            lambda _: seen.append(torch.get_num_threads()),
        )
        assert seen == [inside]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# which labels have a say


def shuffled_test_labels(data: Data) -> Data:
    changed = data.clone()
    changed.y[data.test_mask] = (data.y[data.test_mask] + 1) % 3
    return changed


def hidden_test_labels(data: Data) -> Data:
    changed = data.clone()
    # one test node must stay, or there would be nothing to score at the end
    keep = int(data.test_mask.nonzero()[0])
    changed.y[data.test_mask] = -1
    changed.y[keep] = data.y[keep]
    changed.test_mask = torch.arange(80) == keep
    return changed


@pytest.mark.parametrize("change", [shuffled_test_labels, hidden_test_labels])
@pytest.mark.parametrize("weighed", [False, True])
def test_test_labels_have_no_say(change: Callable[[Data], Data], weighed: bool) -> None:
    data = one_split()
    config = dataclasses.replace(SHORT, class_weights=weighed, batch_size=20)
    honest, state = outcome(data, config)
    other, again = outcome(change(data), config)
    assert honest.history == other.history
    assert (honest.train, honest.val) == (other.train, other.val)
    assert honest.best_epoch == other.best_epoch
    assert same_state(state, again)
    assert honest.test != other.test


def test_validation_labels_only_choose_the_epoch() -> None:
    data = one_split()
    config = dataclasses.replace(SHORT, epochs=25, lr=0.05, monitor="loss")
    traces: list[list[dict[str, Tensor]]] = []
    results = []
    for graph_ in (data, contrary(data)):
        states: list[dict[str, Tensor]] = []
        model = hero(graph_)
        results.append(train(model, graph_, config, _note(states, model)))
        traces.append(states)
    assert all(same_state(one, other) for one, other in zip(*traces, strict=True))
    losses = [[epoch.train_loss for epoch in result.history] for result in results]
    assert losses[0] == losses[1]
    assert results[0].best_epoch != results[1].best_epoch


def _note(states: list[dict[str, Tensor]], model: nn.Module) -> Callable[[Epoch], None]:
    return lambda epoch: states.append(copies(model))


def test_training_labels_do_have_a_say() -> None:
    data = one_split()
    changed = data.clone()
    changed.y[data.train_mask] = (data.y[data.train_mask] + 1) % 3
    assert not same_state(outcome(data)[1], outcome(changed)[1])


# patches are chosen anew


@pytest.mark.parametrize(("every", "expected"), [(1, [1, 3, 7]), (3, [3, 9]), (12, []), (99, [])])
def test_patches_are_refreshed_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, every: int, expected: list[int]
) -> None:
    data, epochs, calls = one_split(), [], []
    model = hero(data)
    monkeypatch.setattr(HeroFilter, "refresh", lambda self: calls.append(len(epochs)))
    train(model, data, TrainConfig(epochs=12, refresh_every=every), epochs.append)
    assert calls == expected


def test_the_best_patches_come_back_with_the_best_weights() -> None:
    data, chosen = contrary(one_split()), []
    model = hero(data)
    config = TrainConfig(epochs=30, refresh_every=1, filter_lr=0.3, lr=0.05, monitor="loss")
    result = train(model, data, config, lambda epoch: chosen.append(model.patches().index.clone()))
    assert not torch.equal(chosen[result.best_epoch], chosen[-1])
    assert torch.equal(model.patches().index, chosen[result.best_epoch])


# interruptions and errors


def test_ctrl_c_keeps_the_best_so_far() -> None:
    data, states = one_split(), []
    model = hero(data)

    def stop(event: Event) -> None:
        states.append(copies(model))
        if event.done == 4:
            raise KeyboardInterrupt

    result = train(model, data, TrainConfig(epochs=50), stop)
    assert result.interrupted
    assert len(result.history) == 4
    assert same_state(copies(model), states[result.best_epoch])
    uninterrupted, _ = outcome(data, TrainConfig(epochs=4))
    assert not uninterrupted.interrupted
    assert uninterrupted.history == result.history
    assert uninterrupted.test == result.test


def test_ctrl_c_before_the_first_epoch_is_passed_on() -> None:
    class Stopped(Linear):
        def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Stopped(), one_split(), SHORT)
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_loss_that_is_no_number_is_told() -> None:
    class Broken(Linear):
        def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
            factor = float("nan") if len(self.seen) > 1 else 1.0
            return super().forward(data, nodes) * factor

    with seeded(0), pytest.raises(RunError) as caught:
        train(Broken(), one_split(), TrainConfig(epochs=9, lr=0.5))
    assert str(caught.value) == (
        "the training loss must be a number (got nan in epoch 2); lower lr (now 0.5)"
    )


def test_masks_of_many_splits_are_refused() -> None:
    data = graph()
    with pytest.raises(GraphError) as caught:
        train(linear(), data, SHORT)
    assert str(caught.value) == (
        "masks must be one-dimensional (got [80, 3]: three splits); "
        "choose one with load_dataset(name, split=0) or select_split(data, 0)"
    )


def test_an_error_in_the_callback_comes_through() -> None:
    def fail(epoch: Epoch) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(linear(), one_split(), SHORT, fail)
    assert not torch.are_deterministic_algorithms_enabled()


# after training


def test_predicting_in_batches_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = one_split()
    model = hero(data).train()
    whole = predict_logits(model, data)
    assert not model.training
    assert not whole.requires_grad
    monkeypatch.setattr("herofilter.training.loop.EVAL_BATCH", 7)
    torch.testing.assert_close(predict_logits(model, data), whole)
    nodes = torch.tensor([5, 0, 5, 79])
    torch.testing.assert_close(predict_logits(model, data, nodes), whole[nodes])


def test_predicting_scales_features_as_training_did() -> None:
    data, model = one_split(), linear()
    result = train(model, data, TrainConfig(epochs=3, feature_scaling="rows"))
    assert evaluate(model, data, data.test_mask.nonzero().view(-1)) == result.test


def test_embeddings_do_not_decay() -> None:
    data = prepare(csbm(num_nodes=60, num_classes=3, num_features=0, seed=0), Config())
    model = find_model("mlp").build(data, Config())
    groups = make_optimizers(model, TrainConfig(weight_decay=0.1))[0].param_groups
    decay = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    assert len(decay) == len(list(model.parameters()))
    assert decay[id(model.stem.embedding.weight)] == 0.0
    assert decay[id(model.stem.linear.weight)] == 0.1


def test_huge_features_are_named_as_the_cause() -> None:
    data = one_split()
    data.x = data.x / data.x.abs().max() * 3e38
    with pytest.raises(RunError) as caught:
        train(Linear(), data, TrainConfig(epochs=9, feature_scaling="none"))
    said = str(caught.value)
    assert said.startswith("the training loss must be a number (got ")
    assert said.endswith("(feature_scaling=standard)")
    assert "scale the features, which reach " in said


def test_the_best_state_is_kept_when_the_loss_is_no_number() -> None:
    class Diverging(Linear):
        def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
            factor = float("inf") if len(self.seen) > 2 else 1.0
            return super().forward(data, nodes) * factor

    model = Diverging()
    with pytest.raises(RunError, match="in epoch 3"), seeded(0):
        train(model, one_split(), TrainConfig(epochs=9))
    assert all(bool(value.isfinite().all()) for value in model.state_dict().values())
