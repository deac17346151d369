import pytest
import torch

from herofilter.config import Config
from herofilter.data import csbm, select_split
from herofilter.nn import NodeClassifier, find_model
from herofilter.settings import TrainConfig
from herofilter.training import loop, prepare, seeded, train
from herofilter.training.optimizers import make_optimizers
from herofilter.training.row_adam import RowAdam
from tests.training.graphs import SMALL, copies

FAST = SMALL.replace(patcher="fast", summary=False, label_tokens=True)
BARE = select_split(csbm(num_nodes=150, num_classes=3, num_features=0, seed=0), 0)


def build(name: str = "herofilter", config: Config = FAST) -> NodeClassifier:
    with seeded(0):
        return find_model(name).build(prepare(BARE, config, name), config)


def kinds_in_use(
    monkeypatch: pytest.MonkeyPatch, model: NodeClassifier, batch_size: int
) -> list[type[torch.optim.Optimizer]]:
    made = []

    def note(*arguments: object) -> list[torch.optim.Optimizer]:
        made.extend(make_optimizers(*arguments))
        return made

    monkeypatch.setattr(loop, "make_optimizers", note)
    train(model, BARE, TrainConfig(epochs=1, batch_size=batch_size))
    return [type(optimizer) for optimizer in made]


def test_tables_are_moved_by_rows_and_the_rest_by_adam() -> None:
    model = build()
    table = model.stem.embedding.weight
    adam, rows = make_optimizers(model, TrainConfig(lr=0.3, weight_decay=0.1), [table])
    assert isinstance(rows, RowAdam)
    assert [id(entry) for entry in rows.param_groups[0]["params"]] == [id(table)]
    assert rows.param_groups[0]["lr"] == 0.3
    listed = {id(entry) for group in adam.param_groups for entry in group["params"]}
    assert listed == {id(entry) for entry in model.parameters()} - {id(table)}
    # vectors of labels are few, and stay with Adam, without decay
    (decay,) = (
        group["weight_decay"]
        for group in adam.param_groups
        if any(entry is model.labels.embedding.weight for entry in group["params"])
    )
    assert decay == 0.0


@pytest.mark.parametrize(
    ("name", "weights"),
    [("gprgnn", ["gamma"]), ("bernnet", ["theta"]), ("chebnetii", ["gamma"]), ("appnp", [])],
)
def test_filters_of_baselines_do_not_decay(name: str, weights: list[str]) -> None:
    model = build(name)
    named = {id(entry): key for key, entry in model.named_parameters()}
    assert [named[id(entry)] for entry in model.filter_parameters()] == weights
    for rate, expected in ((0.0, 0.3), (0.2, 0.2)):
        config = TrainConfig(lr=0.3, filter_lr=rate, weight_decay=0.1)
        groups = make_optimizers(model, config)[0].param_groups
        others = [group for group in groups if group["weight_decay"]]
        assert [(group["lr"], group["weight_decay"]) for group in others] == [(0.3, 0.1)]
        found = {
            named[id(entry)]: (group["lr"], group["weight_decay"])
            for group in groups
            for entry in group["params"]
            if named[id(entry)] in weights
        }
        assert found == dict.fromkeys(weights, (expected, 0.0))


@pytest.mark.parametrize("learn_filter", [True, False])
def test_filters_of_baselines_learn_unless_told_otherwise(learn_filter: bool) -> None:
    model = build("gprgnn")
    start = copies(model)
    train(model, BARE, TrainConfig(epochs=3, learn_filter=learn_filter))
    end = copies(model)
    assert torch.equal(end["gamma"], start["gamma"]) is not learn_filter
    assert not torch.equal(end["mlp.stem.linear.weight"], start["mlp.stem.linear.weight"])


@pytest.mark.parametrize(
    ("name", "batch_size", "expected"),
    [
        ("herofilter", 0, [torch.optim.Adam]),
        ("herofilter", 10_000, [torch.optim.Adam]),
        ("herofilter", 5, [torch.optim.Adam, RowAdam]),
        ("mlp", 5, [torch.optim.Adam, RowAdam]),
        # a step passes over all nodes, however few are asked for
        ("gcn", 5, [torch.optim.Adam]),
    ],
)
def test_mini_batches_move_rows(
    monkeypatch: pytest.MonkeyPatch, name: str, batch_size: int, expected: list[type]
) -> None:
    model = build(name)
    assert kinds_in_use(monkeypatch, model, batch_size) == expected
    # a caller who goes on by hand finds plain gradients
    assert not model.stem.embedding.sparse


def test_a_step_touches_the_rows_of_its_patches_alone() -> None:
    model = build()
    nodes = BARE.train_mask.nonzero().view(-1)
    read = model.patches(nodes).index.unique()
    read = read[read >= 0]
    others = torch.ones(150, dtype=torch.bool)
    others[read] = False
    assert 0 < int(others.sum()) < 150
    before = copies(model)["stem.embedding.weight"]
    states = []
    train(
        model,
        BARE,
        TrainConfig(epochs=3, batch_size=5, weight_decay=0.5),
        lambda _: states.append(copies(model)["stem.embedding.weight"]),
    )
    assert torch.equal(states[-1][others], before[others])
    assert bool((states[-1][nodes] != before[nodes]).any())


def test_learned_vectors_learn() -> None:
    # nothing else tells one node from another
    model = build("mlp", SMALL.replace(dropout=0.0, input_dropout=0.0))
    config = TrainConfig(epochs=60, patience=60, batch_size=16, lr=0.05, weight_decay=0.0)
    losses = [epoch.train_loss for epoch in train(model, BARE, config).history]
    assert losses[0] > 1.0
    assert losses[-1] < 0.1
