"""Warnings about a model that was kept: its scores, and directions that it can't read."""

import pyarrow as pa
import pytest
import torch

from herofilter.config import Config
from herofilter.data import TableGraph, csbm, select_split
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.training.predictor import Predictor
from herofilter.training.recipe import PreparedGraphs, fit_split, make_predictor, settle
from herofilter.training.search.fitting import fit_graph
from herofilter.training.search.result_warnings import result_warnings

GOOD = {
    "accuracy": 0.9,
    "balanced_accuracy": 0.9,
    "classes": [{"count": 100, "recall": 0.9}, {"count": 100, "recall": 0.9}],
}


def fitted(model: str, directed: bool, *settings: str) -> Predictor:
    data = select_split(csbm(num_nodes=60, num_classes=2, directed=directed), 0)
    graph = TableGraph(data, pa.array(range(60)), ("no", "yes"), FeatureEncoder(()))
    config = Config().replace(epochs=2, patch_size=4).with_settings(list(settings))
    trained = fit_split(PreparedGraphs(data), model, settle(data, model, config))
    return make_predictor(trained, graph, graph.encoder)


@pytest.mark.parametrize(
    ("model", "directed", "settings", "warned"),
    [
        ("gcn", True, (), True),
        ("gcn", False, (), False),
        ("mlp", True, (), False),
        ("herofilter", True, ("directed=keep",), False),
        ("herofilter", True, ("directed=symmetrise",), True),
    ],
)
def test_directions_that_are_dropped(
    model: str, directed: bool, settings: tuple[str, ...], warned: bool
) -> None:
    predictor = fitted(model, directed, *settings)
    kinds = [each.kind for each in result_warnings(predictor, GOOD, GOOD, "it")]
    assert kinds == ["directions-dropped"] * warned


def test_scores_are_compared_with_the_commonest_class_of_training() -> None:
    predictor = fitted("mlp", False)
    data = predictor.saved.training_graph.data
    data.y[data.train_mask] = 1
    bad = {**GOOD, "accuracy": 0.5}
    (warning,) = result_warnings(predictor, bad, bad, "it")
    assert warning.kind == "no-better-than-majority"
    assert "always saying 'yes' (50.0 %)" in str(warning)


def test_fit_keeps_all_warnings_with_the_model() -> None:
    # labels by chance, so that nothing can be learned
    data = csbm(num_nodes=150, num_classes=2, seed=1)
    data.x = torch.ones(150, 1)
    data.y = (torch.rand(150, generator=torch.Generator().manual_seed(0)) < 0.2).long()
    for name in ("train_mask", "val_mask", "test_mask"):
        del data[name]
    graph = TableGraph(data, pa.array(range(150)), ("no", "yes"), FeatureEncoder(()))
    found = fit_graph(graph, 60.0, ("epochs=3",), trials=1, model="mlp")
    kinds = [each.kind for each in found.warnings]
    assert kinds == ["no-better-than-majority", "balanced-near-chance"]
    assert found.saved.metrics["warnings"] == [each.to_dict() for each in found.warnings]
