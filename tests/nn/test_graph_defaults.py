"""Defaults that depend on the graph: by the numbers of training nodes, features and edges."""

import pytest
import torch
from torch_geometric.data import Data

from herofilter.config import Config, paper_config
from herofilter.data import csbm, load_dataset
from herofilter.errors import ConfigError
from herofilter.nn import HeroFilter, find_model
from herofilter.nn.dropout import Dropout
from herofilter.nn.graph_defaults import (
    FEW,
    LIGHT,
    MEDIUM,
    STRONG,
    Regularisation,
    graph_defaults,
    resolve_defaults,
)
from herofilter.patchers import FastPatcher
from herofilter.settings import TrainConfig
from herofilter.training import train_splits
from herofilter.training.optimizers import make_optimizers
from tests.training.graphs import SMALL, graph, linear

KEYS = Regularisation._fields


def sized(training: int, features: int, edges_per_node: float = 4.0, splits: int = 0) -> Data:
    n = 2 * training
    mask = torch.arange(n) < training
    if splits:
        mask = mask.unsqueeze(1).expand(n, splits)
    edges = torch.zeros(2, int(edges_per_node * n), dtype=torch.long)
    return Data(x=torch.empty(n, features), edge_index=edges, num_nodes=n, train_mask=mask)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(sized(87, 1703), STRONG, id="WebKB"),
        pytest.param(sized(1192, 1433, splits=10), STRONG, id="Cora"),
        pytest.param(sized(1092, 2325, 15.9), MEDIUM, id="Chameleon"),
        pytest.param(sized(2496, 2089, 41.7), MEDIUM, id="Squirrel"),
        pytest.param(sized(3648, 932), STRONG, id="Actor"),
        pytest.param(sized(9463, 500, 4.5), MEDIUM, id="PubMed"),
        pytest.param(sized(5000, 7, 7.9), LIGHT, id="minesweeper"),
        pytest.param(sized(5000, 7, 7.9, splits=10), LIGHT, id="minesweeper, ten splits"),
        pytest.param(sized(11331, 300, 2.9), LIGHT, id="roman-empire"),
        pytest.param(sized(999, 7), FEW, id="few nodes"),
        pytest.param(sized(499, 100), STRONG, id="below five per feature"),
        pytest.param(sized(500, 100), FEW, id="five per feature"),
        pytest.param(sized(499, 100, 10), MEDIUM, id="ten edges per node"),
    ],
)
def test_the_rules(data: Data, expected: Regularisation) -> None:
    assert graph_defaults(data) == expected


def test_real_graphs_are_of_the_kind_that_the_docs_say() -> None:
    data = load_dataset("karate", split=None)
    assert graph_defaults(data) == STRONG
    without = csbm(num_nodes=4000, num_features=0)
    assert graph_defaults(without) == STRONG


def test_what_is_given_stays() -> None:
    data = sized(5000, 7)
    assert [resolved(data, Config())[key] for key in KEYS] == list(LIGHT)
    for key, value in {"weight_decay": 0.0, "dropout": 0.0, "patience": 7}.items():
        expected = {**LIGHT._asdict(), key: value}
        assert resolved(data, Config().replace(**{key: value})) == expected
    paper = paper_config()
    assert resolve_defaults(data, paper) is paper


def resolved(data: Data, config: Config) -> dict[str, float]:
    # only the sizes of these graphs are real
    config = resolve_defaults(data, config.replace(feature_scaling="none"))
    values = {**vars(config.model), **vars(config.train)}
    return {key: values[key] for key in KEYS}


def test_auto_is_a_value_like_any_other() -> None:
    fixed = Config().replace(weight_decay=0.1, patience=3)
    assert fixed.with_settings(["weight_decay=auto", "patience=auto"]) == Config()
    assert fixed.replace(weight_decay=None, patience="auto") == Config()
    saved = Config().to_dict()
    assert [saved["train"][key] for key in ("weight_decay", "patience")] == ["auto", "auto"]
    assert Config.from_dict(saved) == Config()
    for setting, text in (
        ("dropout=none", "dropout must be of type float (got 'none')"),
        ("patience=0", "patience must be at least 1 (got 0)"),
        ("lr=auto", "lr must be of type float (got 'auto')"),
        ("hidden_channels=auto", "hidden_channels must be of type int (got 'auto')"),
    ):
        with pytest.raises(ConfigError) as caught:
            Config().with_settings([setting])
        assert str(caught.value) == text


@pytest.mark.parametrize("name", ["herofilter", "gcn", "mlp", "polynormer"])
def test_models_are_built_with_what_fits_the_graph(name: str) -> None:
    data = csbm(num_nodes=2400, num_classes=3, num_features=4)
    model = find_model(name).build(data, Config().replace(patcher="fast"))
    rates = {layer.p for layer in model.modules() if isinstance(layer, Dropout)}
    assert rates <= {LIGHT.dropout, LIGHT.input_dropout}
    assert LIGHT.dropout in rates


def test_without_a_graph_they_are_those_for_few_training_nodes() -> None:
    data = csbm(num_nodes=60, num_classes=3)
    model = HeroFilter(32, 3, patcher=FastPatcher(patch_size=4)(data))
    assert {layer.p for layer in model.modules() if isinstance(layer, Dropout)} == {0.5}
    (adam,) = make_optimizers(linear(), TrainConfig())
    assert adam.param_groups[0]["weight_decay"] == STRONG.weight_decay


def test_a_run_is_trained_with_what_it_says() -> None:
    data = graph()
    summary = train_splits(data, "mlp", SMALL)
    config = Config.from_dict(summary["config"])
    assert resolved(data, config) == STRONG._asdict()
    assert train_splits(data, "mlp", config)["test_accuracy"] == summary["test_accuracy"]
    other = train_splits(data, "mlp", config.replace(weight_decay=0.5, dropout=0.0))
    assert other["val_accuracy"] != summary["val_accuracy"] or (
        other["test_accuracy"] != summary["test_accuracy"]
    )
