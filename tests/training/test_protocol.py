import math

import pytest
import torch

from herofilter.config import Config
from herofilter.data import select_split
from herofilter.errors import ConfigError, GraphError
from herofilter.training import prepare, train_splits
from herofilter.training.protocol import spread, train_split
from tests.training.graphs import SMALL, graph


def test_spread() -> None:
    assert spread([0.5, 0.6, 0.7]) == {
        "mean": pytest.approx(0.6),
        # with n - 1 below the line
        "std": pytest.approx(0.1),
        "values": [0.5, 0.6, 0.7],
    }
    assert spread([0.25]) == {"mean": 0.25, "std": 0.0, "values": [0.25]}
    nothing = spread([])
    assert math.isnan(nothing["mean"])
    assert (nothing["std"], nothing["values"]) == (0.0, [])


def test_the_summary_says_what_was_run() -> None:
    data = graph()
    summary = train_splits(data, "mlp", SMALL, [0, 2], graph="small")
    assert summary["graph"] == "small"
    assert summary["model"] == "mlp"
    assert summary["variant"] == data.variant
    assert Config.from_dict(summary["config"]) == SMALL
    assert summary["splits"] == [0, 2]
    assert summary["seconds"] > 0
    assert not summary["interrupted"]
    for key in ("test_accuracy", "val_accuracy"):
        assert summary[key] == spread(summary[key]["values"])
        assert len(summary[key]["values"]) == 2


def test_each_split_is_trained_on_its_own() -> None:
    data = graph()
    both = train_splits(data, "mlp", SMALL, [0, 2])
    for place, split in enumerate((0, 2)):
        alone = train_splits(data, "mlp", SMALL, [split])
        assert (
            alone["test_accuracy"]["values"] == both["test_accuracy"]["values"][place : place + 1]
        )
        _, result = train_split(prepare(data, SMALL), "mlp", SMALL, split)
        assert result.test.accuracy == both["test_accuracy"]["values"][place]


def test_one_dimensional_masks_are_one_split() -> None:
    data = graph()
    alone = train_splits(select_split(data, 1), "mlp", SMALL)
    assert alone["test_accuracy"] == train_splits(data, "mlp", SMALL, [1])["test_accuracy"]


def test_the_callback_hears_of_every_epoch() -> None:
    heard = []
    train_splits(
        graph(), "mlp", SMALL, [2, 0], on_epoch=lambda split, epoch: heard.append((split, epoch))
    )
    assert [(split, epoch.epoch) for split, epoch in heard] == [
        (split, epoch) for split in (2, 0) for epoch in range(6)
    ]


def test_repeats_are_the_same_and_the_seed_matters() -> None:
    data = graph()
    states = []
    for seed in (0, 0, 1):
        torch.rand(2)
        config = SMALL.replace(seed=seed)
        network, _ = train_split(prepare(data, config), "herofilter", config, 0)
        states.append(network.head.layers[0].weight.detach())
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_ctrl_c_ends_the_run_with_what_there_is() -> None:
    def stop(split: int, epoch: object) -> None:
        if split == 1:
            raise KeyboardInterrupt

    summary = train_splits(graph(), "mlp", SMALL, [0, 1, 2], on_epoch=stop)
    assert summary["interrupted"]
    assert summary["splits"] == [0, 1]


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigError, match=r"model must be one of .*did you mean 'gcn'"):
        train_splits(graph(), "gnc", SMALL)
    with pytest.raises(ConfigError, match="split must be between 0 and 2 \\(got 3\\)"):
        train_splits(graph(), "mlp", SMALL, [3])
    bare = graph()
    del bare.val_mask
    with pytest.raises(GraphError, match="got no val_mask"):
        train_splits(bare, "mlp", SMALL)
