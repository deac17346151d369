"""One object predicts, whether it was just fitted or loaded, and does its work once."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import herofilter
from herofilter import HeroFilterClassifier, Predictor
from herofilter.config import Config
from herofilter.data import GraphSpec, TableGraph, csbm
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.errors import GraphError
from herofilter.nn import NodeClassifier, registry
from herofilter.nn.classifier import select
from herofilter.nn.registry import register_model
from herofilter.predict import explain_node, explain_prediction
from herofilter.training import predictor as module, recipe
from herofilter.training.fit_model import fit_model, with_validation
from tests.training.graphs import SMALL, graph

NAMES = ("ant", "bee", "cat")


def fitted(
    model: str = "herofilter", config: Config = SMALL, data: Data | None = None
) -> Predictor:
    return fit_model(with_validation(graph(), 0.3), NAMES, model, config)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often a graph is prepared and a network is built."""
    counts: Counter[str] = Counter()
    build, prepare = registry.ModelEntry.build, recipe.prepare
    literal = module.build_herofilter

    def counting_build(self: registry.ModelEntry, *given: Any) -> NodeClassifier:
        counts["build"] += 1
        return build(self, *given)

    def counting_literal(*given: Any, **more: Any) -> NodeClassifier:
        counts["build"] += 1
        return literal(*given, **more)

    def counting_prepare(*given: Any, **more: Any) -> Data:
        counts["prepare"] += 1
        return prepare(*given, **more)

    monkeypatch.setattr(registry.ModelEntry, "build", counting_build)
    monkeypatch.setattr(module, "build_herofilter", counting_literal)
    for room in (recipe, module):
        monkeypatch.setattr(room, "prepare", counting_prepare)
    return counts


@pytest.mark.parametrize("model", ["herofilter", "gcn"])
def test_everything_is_done_once(model: str, work: Counter[str], tmp_path: Path) -> None:
    fit = fitted(model)
    assert work == {"build": 1, "prepare": 1}
    fit.save(tmp_path / "model")
    for _ in range(3):
        fit.predict_proba()
        fit.predict_proba(torch.tensor([3]))
    assert work == {"build": 1, "prepare": 1}
    work.clear()
    loaded = Predictor.load(tmp_path / "model")
    assert not work
    for _ in range(3):
        assert torch.equal(loaded.predict_proba(), fit.predict_proba())
    assert next(loaded.stream(torch.tensor([5, 2]))).shape == (2, 3)
    assert work == {"build": 1, "prepare": 1}


def test_the_estimator_builds_once(work: Counter[str], tmp_path: Path) -> None:
    data = graph()
    classifier = HeroFilterClassifier(graph=data, model="herofilter", epochs=3, patch_size=4)
    classifier.fit(range(80), data.y.numpy()).predict()
    classifier.predict_proba([1, 2])
    assert work == {"build": 1, "prepare": 1}
    classifier.save(tmp_path / "model")
    work.clear()
    again = HeroFilterClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(), classifier.predict_proba())
    again.predict_proba([1, 2])
    assert work == {"build": 1, "prepare": 1}


def test_a_portfolio_prepares_each_form_of_the_graph_once(work: Counter[str]) -> None:
    fit = fitted("auto")
    fit.predict_proba()
    # seven members, all of which read an undirected graph with standardised features
    assert work == {"build": 7, "prepare": 1}


def test_features_are_scaled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fitted(config=SMALL.replace(feature_scaling="standard"))
    fit.predict_proba()
    monkeypatch.setattr(module, "prepare_for", None)
    first = fit.predict_proba(torch.tensor([4]))
    torch.testing.assert_close(first, fit.predict_proba()[4:5])


def test_a_graph_without_labels_is_predicted() -> None:
    fit = fitted()
    data = graph()
    bare = Data(x=data.x, edge_index=data.edge_index, num_nodes=80)
    other = fit.on(bare)
    assert torch.equal(other.predict_proba(), fit.predict_proba())
    assert other.prepared.get("y") is None
    assert bare.get("y") is None
    assert other.predict(torch.tensor([0, 1])) == fit.predict(torch.tensor([0, 1]))
    assert set(fit.predict()) <= set(NAMES)


def test_labels_of_another_graph_mean_nothing() -> None:
    fit = fitted()
    odd = graph()
    odd.y = torch.full((80,), 99)
    assert torch.equal(fit.on(odd).predict_proba(), fit.predict_proba())
    odd.y = torch.rand(80, 2)
    assert torch.equal(fit.on(odd).predict_proba(), fit.predict_proba())


def test_a_class_without_training_nodes_has_a_probability() -> None:
    fit = fit_model(with_validation(graph(), 0.3), (*NAMES, "dog"), "herofilter", SMALL)
    assert fit.predict_proba().shape == (80, 4)


def test_what_is_kept_is_what_validation_chose() -> None:
    # patches are chosen often, and the filters go on moving after the best epoch
    config = SMALL.replace(epochs=12, patience=12, refresh_every=1, filter_lr=0.5, lr=0.2)
    data = with_validation(csbm(60, 3, average_degree=4, seed=1), 0.3)
    trained = recipe.fit_split(recipe.PreparedGraphs(data, 3), "herofilter", config)
    assert trained.result.best_epoch < len(trained.result.history) - 1
    before = trained.logits("val")[0]
    table = TableGraph(data, pa.array(range(60)), NAMES, FeatureEncoder(()))
    kept = recipe.make_predictor(trained, table, calibrate=False)
    nodes = data.val_mask.nonzero().view(-1)
    torch.testing.assert_close(kept.predict_proba()[nodes], before.double().softmax(1))
    assert not torch.equal(*_choices(trained.network))


def _choices(network: NodeClassifier) -> tuple[Tensor, Tensor]:
    """Return the patches of the model, and those that its last weights would choose."""
    kept = network.patches().index.clone()
    network.refresh()
    return kept, network.patches().index


@pytest.mark.parametrize("model", ["herofilter", "auto"])
def test_every_labelled_node_is_trained_on(model: str) -> None:
    data = with_validation(csbm(num_nodes=60, num_classes=3), 0.3)

    assert "test_mask" not in data
    assert bool((data.train_mask | data.val_mask).all())
    kept = fit_model(data, NAMES, model, SMALL).saved.training_graph.data
    assert torch.equal(kept.train_mask, data.train_mask)
    assert torch.equal(kept.y, data.y)
    assert "test_mask" not in kept


def test_nodes_that_are_not_there_are_told() -> None:
    with pytest.raises(GraphError) as caught:
        fitted("mlp").predict_proba(torch.tensor([3, 80]))
    assert str(caught.value) == "nodes must be between 0 and 79 (got 3 to 80)"


def test_an_explanation_is_that_of_the_network() -> None:
    fit = fitted()
    found = explain_prediction(fit, 7)
    same = explain_node(fit.network, fit.data, 7, fit.temperature)
    assert found == same
    assert found.probability == pytest.approx(float(fit.predict_proba()[7].max()), abs=1e-6)
    assert herofilter.Predictor is herofilter.predict.Predictor


# --- a model with files of its own


class Table(NodeClassifier):
    """A model that learned nothing but a table, which is no tensor."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_channels, out_channels)
        self.text = "new"

    def reset_parameters(self) -> None:
        self.layer.reset_parameters()

    def forward(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        logits: Tensor = self.layer(select(data.x, nodes))
        return logits + len(self.text)

    def extra_files(self) -> dict[str, bytes]:
        return {"table.txt": self.text.encode()}

    def load_extra(self, files: Mapping[str, bytes]) -> None:
        self.text = files["table.txt"].decode()


def test_files_of_a_model_are_saved_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))

    @register_model("table", paper="none", needs="nothing", scales=True)
    def build_table(data: Data, config: Config, spec: GraphSpec) -> NodeClassifier:
        return Table(spec.in_channels, spec.num_classes)

    def trained(*given: Any, **more: Any) -> Any:
        network, result = recipe_train(*given, **more)
        network.text = "learned"
        return network, result

    recipe_train = recipe.train_split
    monkeypatch.setattr(recipe, "train_split", trained)
    fit = fitted("table")
    fit.save(tmp_path / "model")
    assert (tmp_path / "model" / "extra-table.txt").read_bytes() == b"learned"
    loaded = Predictor.load(tmp_path / "model")
    assert torch.equal(loaded.predict_logits(), fit.predict_logits())
    (tmp_path / "model" / "extra-table.txt").write_bytes(b"forged")
    with pytest.raises(ValueError, match="its checksum differs"):
        Predictor.load(tmp_path / "model")
