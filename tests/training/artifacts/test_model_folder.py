import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data

import herofilter
from herofilter.config import Config
from herofilter.data import csbm, symmetrise
from herofilter.data.tables.encoder import FeatureEncoder
from herofilter.data.tables.predictions import predictions_table
from herofilter.data.tables.read_graph import TableGraph, read_graph
from herofilter.data.tables.read_table import read_table
from herofilter.errors import GraphError, RunError
from herofilter.files import DamagedFileError
from herofilter.training import predict_logits
from herofilter.training.artifacts.model_folder import SavedModel, check_target, weights_of
from herofilter.training.fit_model import fit_model, with_validation
from herofilter.training.predictor import Predictor
from tests.awkward import directed, no_features
from tests.training.graphs import SMALL

FILES = {
    "classes.json",
    "config.yaml",
    "graph.npz",
    "history.json",
    "ids.parquet",
    "metrics.json",
    "model.json",
    "weights.safetensors",
}
NAMES = ("ant", "bee", "cat")


def small(seed: int = 1, num_nodes: int = 80) -> Data:
    return csbm(num_nodes=num_nodes, num_classes=3, average_degree=6, seed=seed)


def fitted(data: Data | None = None, model: str = "herofilter", **settings: Any) -> Predictor:
    data = with_validation(data if data is not None else small(), 0.3)
    return fit_model(data, NAMES, model, SMALL.replace(**{"refresh_every": 2, **settings}))


def saved_to(folder: Path, **settings: Any) -> SavedModel:
    saved = fitted(**settings).saved
    saved.save(folder)
    return saved


def on(saved: SavedModel, data: Data, nodes: torch.Tensor | None = None) -> Predictor:
    return Predictor(saved).on(data, nodes)


def predict(saved: SavedModel, data: Data, nodes: torch.Tensor | None = None) -> torch.Tensor:
    return on(saved, data, nodes).predict_proba()


VARIANTS = [
    ("herofilter", {}),
    ("herofilter", {"patcher": "fast"}),
    ("herofilter", {"feature_scaling": "rows", "label_tokens": True}),
    ("herofilter", {"feature_scaling": "standard", "patcher": "fast"}),
    ("herofilter", {"label_tokens": True, "patcher": "fast"}),
    ("herofilter", {"filter": "shared", "stem": False}),
    ("fast-herofilter", {}),
    ("gcn", {}),
    ("mlp", {}),
]


@pytest.mark.parametrize(("model", "settings"), VARIANTS)
def test_a_loaded_model_predicts_what_the_fitted_one_did(
    tmp_path: Path, model: str, settings: dict[str, Any]
) -> None:
    fit = fitted(model=model, **settings)
    fit.saved.save(tmp_path / "model")
    loaded = SavedModel.load(tmp_path / "model")
    assert loaded.graph is not None
    before = fit.predict_proba()
    after = Predictor(loaded).predict_proba()
    assert torch.equal(before, after)
    assert after.dtype == torch.float64
    torch.testing.assert_close(after.sum(1), torch.ones(80, dtype=torch.float64))
    nodes = torch.tensor([5, 0, 79])
    torch.testing.assert_close(Predictor(loaded).predict_proba(nodes), after[nodes])


@pytest.mark.parametrize("data", [directed(), no_features()], ids=["directed", "no features"])
def test_other_kinds_of_graphs_survive(tmp_path: Path, data: Data) -> None:
    fit = fitted(data, dropout=0.0)
    fit.saved.save(tmp_path / "model")
    loaded = SavedModel.load(tmp_path / "model")
    assert loaded.graph is not None
    before = fit.predict_proba()
    assert torch.equal(Predictor(loaded).predict_proba(), before)


def test_everything_survives(tmp_path: Path) -> None:
    saved = saved_to(tmp_path / "deep" / "model")
    assert {path.name for path in (tmp_path / "deep" / "model").iterdir()} == FILES
    loaded = SavedModel.load(tmp_path / "deep" / "model")
    for name in ("model", "config", "in_channels", "classes", "temperature", "encoder"):
        assert getattr(loaded, name) == getattr(saved, name), name
    assert loaded.history == saved.history
    assert loaded.metrics == saved.metrics
    assert loaded.resolved
    assert loaded.state.keys() == saved.state.keys()
    assert all(torch.equal(loaded.state[key], saved.state[key]) for key in saved.state)
    assert loaded.graph is not None
    assert saved.graph is not None
    for name in ("x", "edge_index", "y", "train_mask", "val_mask"):
        assert torch.equal(loaded.graph.data[name], saved.graph.data[name]), name
    assert loaded.graph.ids.equals(saved.graph.ids)
    seal = json.loads((tmp_path / "deep" / "model" / "model.json").read_text())
    assert seal["format"] == 1
    assert seal["herofilter"] == herofilter.__version__


def test_tables_survive(tmp_path: Path) -> None:
    people = [f"p{number}" for number in range(12)]
    nodes = pa.table(
        {
            "id": people,
            "age": [20 + number for number in range(12)],
            "town": ["Bonn", "Ulm", None] * 4,
            "team": ["red", "blue"] * 6,
        }
    )
    edges = pa.table({"source": people, "target": people[1:] + people[:1]})
    own = read_graph(edges, nodes, "team")
    data = with_validation(own.data, 0.3)
    saved = fit_model(data, own.classes, "herofilter", SMALL).saved
    graph = TableGraph(data, own.ids, own.classes, own.encoder, ("a note",))
    saved = dataclasses.replace(saved, encoder=own.encoder, graph=graph)
    saved.save(tmp_path / "model")
    loaded = SavedModel.load(tmp_path / "model")
    assert loaded.encoder == own.encoder
    assert loaded.classes == ("blue", "red")
    assert loaded.graph is not None
    assert loaded.graph.notes == ("a note",)
    assert loaded.graph.position("p3") == 3
    again = read_graph(edges, nodes, encoder=loaded.encoder, classes=loaded.classes)
    assert torch.equal(predict(loaded, again.data), predict(saved, data))


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["a", "b"]),
        pa.array(["a", "b"]).cast(pa.large_string()),
        pa.array([2**60 + 1, 7]),
        pa.array([2**64 - 1, 0], pa.uint64()),
    ],
)
def test_graphs_keep_their_form(tmp_path: Path, ids: pa.Array) -> None:
    x = torch.tensor([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]).to_sparse_csr()
    edge = torch.tensor([[0], [1]])
    data = Data(x=x, edge_index=edge, edge_weight=torch.tensor([0.5]), num_nodes=2)
    graph = TableGraph(data, ids, (True, False), FeatureEncoder(()), ())
    saved = SavedModel("mlp", Config(), 3, (True, False), {}, graph=graph)
    saved.save(tmp_path / "model")
    loaded = SavedModel.load(tmp_path / "model")
    assert loaded.graph is not None
    assert loaded.classes == (True, False)
    assert type(loaded.classes[0]) is bool
    assert loaded.graph.ids.equals(ids)
    assert loaded.graph.data.x.is_sparse_csr
    assert torch.equal(loaded.graph.data.x.to_dense(), x.to_dense())
    assert torch.equal(loaded.graph.data.edge_weight, data.edge_weight)
    assert loaded.graph.data.num_nodes == 2
    assert loaded.graph.data.y is None


def test_no_file_is_a_pickle(tmp_path: Path) -> None:
    saved_to(tmp_path / "model")
    for path in (tmp_path / "model").iterdir():
        with pytest.raises((pickle.UnpicklingError, ValueError, KeyError, EOFError, IndexError)):
            pickle.loads(path.read_bytes())
    with np.load(tmp_path / "model" / "graph.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fibU" for name in file.files)


def test_what_belongs_to_the_graph_is_left_out() -> None:
    state = fitted(label_tokens=True).saved.state
    assert not {"patcher.index", "patcher.entries", "labels.known"} & state.keys()
    assert state["patcher.learned.values"].shape == (2, 11)
    spectral = fitted(label_tokens=True, patcher="spectral").saved.state
    assert not {"patcher.index", "labels.known"} & spectral.keys()
    assert spectral["patcher.eigenvalues"].shape == (80,)


def test_weights_are_copies() -> None:
    fit = fitted()
    weights = weights_of(fit.network)
    with torch.no_grad():
        for parameter in fit.network.parameters():
            parameter.add_(1.0)
    assert torch.equal(weights["stem.linear.weight"], fit.saved.state["stem.linear.weight"])


# --- other graphs


@pytest.mark.parametrize(("model", "settings"), VARIANTS)
def test_a_graph_of_another_size_is_predicted(model: str, settings: dict[str, Any]) -> None:
    saved = fitted(model=model, **settings).saved
    other = Data(x=small(5, 120).x, edge_index=small(5, 120).edge_index)
    found = predict(saved, other)
    assert found.shape == (120, 3)
    assert bool(torch.isfinite(found).all())


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
@pytest.mark.parametrize("one_way", [False, True])
def test_what_was_learned_holds_on_a_graph_of_the_same_kind(patcher: str, one_way: bool) -> None:
    whole = csbm(num_nodes=500, num_classes=3, heterophily=0.1, seed=2)
    if one_way:
        whole.edge_index = whole.edge_index[:, whole.edge_index[0] < whole.edge_index[1]]
    for name in ("train_mask", "val_mask", "test_mask"):
        del whole[name]
    old, new = (
        whole.subgraph(part) for part in torch.eye(2, dtype=torch.bool)[torch.arange(500) % 2].t()
    )
    settings = {"epochs": 60, "patience": 60, "hidden_channels": 16, "refresh_every": 25}
    saved = fitted(old, patcher=patcher, **settings).saved
    assert saved.config.patcher.directed == ("keep" if one_way else "symmetrise")
    right = (predict(saved, new).argmax(1) == new.y).float().mean()
    assert float(right) > 0.7


def test_a_graph_without_edges_is_predicted() -> None:
    edges = torch.empty(2, 0, dtype=torch.long)
    data = Data(x=small().x, edge_index=edges)
    assert predict(fitted().saved, data).shape == (80, 3)
    assert predict(
        fitted(directed(), dropout=0.0).saved, Data(x=directed().x, edge_index=edges)
    ).shape == (10, 3)


def test_a_directed_graph_is_read_as_in_training() -> None:
    saved = fitted(small()).saved
    assert saved.config.patcher.directed == "symmetrise"
    one_way = Data(x=directed().x.repeat(1, 8), edge_index=directed().edge_index)
    both = Data(
        x=one_way.x, edge_index=torch.cat([one_way.edge_index, one_way.edge_index.flip(0)], 1)
    )
    torch.testing.assert_close(predict(saved, one_way), predict(saved, both))


def test_labels_at_the_train_mask_are_read_and_others_are_not() -> None:
    saved = fitted(label_tokens=True, epochs=20).saved
    assert saved.graph is not None
    data = saved.graph.data
    found = predict(saved, data)
    other = data.clone()
    other.y = torch.where(data.train_mask, data.y, (data.y + 1) % 3)
    assert torch.equal(predict(saved, other), found)
    other.y = (data.y + 1) % 3
    assert not torch.equal(predict(saved, other), found)
    without = Data(x=data.x, edge_index=data.edge_index)
    assert not torch.equal(predict(saved, without), found)


def test_the_random_state_stays() -> None:
    saved = fitted().saved
    before = torch.random.get_rng_state()
    predict(saved, small())
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_network_is_ready_to_predict() -> None:
    saved = fitted(feature_scaling="rows").saved
    network, prepared = on(saved, small()).network, on(saved, small()).prepared
    assert not network.training
    logits = predict_logits(network, prepared)
    expected = torch.softmax(logits.double() / saved.temperature, 1)
    assert torch.equal(predict(saved, small()), expected)
    assert predict(saved, small(), torch.tensor([], dtype=torch.long)).shape == (0, 3)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (
            torch.ones(80, 7),
            "x must have 32 features per node, as in training (got 7); "
            "give the same features in the same order",
        ),
        (
            None,
            "x must have 32 features per node, as in training (got none); give the same features",
        ),
    ],
)
def test_other_features_are_refused(x: torch.Tensor | None, text: str) -> None:
    data = Data(x=x, edge_index=small().edge_index, num_nodes=80)
    with pytest.raises(GraphError) as caught:
        predict(fitted().saved, data)
    assert str(caught.value) == text


def test_a_model_of_learned_vectors_knows_its_graph_only() -> None:
    saved = fitted(no_features(), dropout=0.0).saved
    with pytest.raises(GraphError) as caught:
        predict(saved, Data(edge_index=small().edge_index, num_nodes=80))
    assert str(caught.value) == (
        "the graph must be the one the model was trained on, since it learned a vector for each "
        "of its 10 nodes, which have no features (got 80 nodes); train with features to predict "
        "other graphs"
    )
    with pytest.raises(GraphError, match=r"got 10 nodes with features\)"):
        predict(saved, directed())


@pytest.mark.parametrize(("model", "least"), [("herofilter", 4), ("mlp", 2)])
def test_a_graph_too_small_for_a_patch_is_told(model: str, least: int) -> None:
    data = Data(x=torch.ones(1, 32), edge_index=torch.empty(2, 0, dtype=torch.long))
    with pytest.raises(GraphError) as caught:
        predict(fitted(model=model).saved, data)
    assert str(caught.value) == (
        f"the graph must have at least {least} nodes to fill a patch (got 1); "
        "give more of the graph, or train with a smaller patch_size"
    )


def test_nodes_must_be_there() -> None:
    with pytest.raises(GraphError) as caught:
        predict(fitted().saved, small(), torch.tensor([3, 80]))
    assert str(caught.value) == "nodes must be between 0 and 79 (got 3 to 80)"


# --- the folder


def test_a_model_replaces_another_and_nothing_else(tmp_path: Path) -> None:
    saved_to(tmp_path / "model")
    (tmp_path / "model" / "predictions.csv").write_text("of the old model")
    (tmp_path / "model" / "thoughts.txt").write_text("of the user")
    new = saved_to(tmp_path / "model", model="mlp")
    assert SavedModel.load(tmp_path / "model").model == new.model == "mlp"
    assert {path.name for path in (tmp_path / "model").iterdir()} == FILES | {"thoughts.txt"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "empty").mkdir()
    new.save(tmp_path / "empty")
    assert SavedModel.load(tmp_path / "empty").model == "mlp"


@pytest.mark.parametrize("other", ["thesis.tex", "model.json"])
def test_a_folder_with_other_things_is_refused(tmp_path: Path, other: str) -> None:
    (tmp_path / other).write_text("{}")
    with pytest.raises(RunError) as caught:
        saved_to(tmp_path)
    assert str(caught.value) == (
        f"the model folder must be new, empty or hold a model to replace (got {tmp_path}); "
        "give another folder"
    )
    with pytest.raises(RunError, match="must be new, empty or hold a model"):
        check_target(tmp_path / other)
    assert [path.name for path in tmp_path.iterdir()] == [other]


def test_a_failed_save_leaves_the_old_model(tmp_path: Path) -> None:
    saved = saved_to(tmp_path / "model")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    broken = dataclasses.replace(saved, metrics={"not": object()})
    with pytest.raises(TypeError):
        broken.save(tmp_path / "model")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        SavedModel.load(tmp_path / "nowhere")
    assert str(caught.value) == (
        f"{tmp_path / 'nowhere'} must be a model folder (got no folder with a model.json); "
        "give the folder that a model was saved to"
    )
    (tmp_path / "model.json").write_text('{"some": "other program"}')
    with pytest.raises(RunError, match=r"got a folder without a readable model\.json"):
        SavedModel.load(tmp_path)


def test_a_newer_format_is_told(tmp_path: Path) -> None:
    saved_to(tmp_path)
    seal = json.loads((tmp_path / "model.json").read_text())
    seal |= {"format": 2, "herofilter": "9.0"}
    (tmp_path / "model.json").write_text(json.dumps(seal))
    with pytest.raises(RunError) as caught:
        SavedModel.load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must be of format 1 or older (got 2, written by herofilter 9.0); "
        "upgrade herofilter"
    )


@pytest.mark.parametrize("name", sorted(FILES - {"model.json"}))
def test_damage_is_told(tmp_path: Path, name: str) -> None:
    saved_to(tmp_path)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DamagedFileError) as caught:
        SavedModel.load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / name} must be as it was saved, but its checksum differs; "
        "copy the folder again or train anew"
    )
    (tmp_path / name).unlink()
    with pytest.raises(DamagedFileError) as caught:
        SavedModel.load(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path} must hold {name} (got no such file); copy the whole folder again"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"model": "nonsense"},
        {"temperature": "warm"},
        {"in_channels": None},
        {"files": {"../weights": "0"}},
        {"files": None},
        {"files": {}, "model": "mlp"},
    ],
)
def test_a_damaged_seal_is_told(tmp_path: Path, change: dict[str, Any]) -> None:
    saved_to(tmp_path)
    seal = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(seal | change))
    with pytest.raises(DamagedFileError, match=r"copy the (whole )?folder again") as caught:
        SavedModel.load(tmp_path)
    assert "\n" not in str(caught.value)


# --- one fit


def test_the_validation_part_is_a_share_of_each_class() -> None:
    y = torch.tensor([0] * 50 + [1] * 20 + [2] * 2 + [-1] * 8)
    data = with_validation(Data(y=y, num_nodes=80), 0.2)
    assert torch.bincount(y[data.val_mask], minlength=3).tolist() == [10, 4, 0]
    assert torch.bincount(y[data.train_mask], minlength=3).tolist() == [40, 16, 2]
    again, other = (with_validation(Data(y=y, num_nodes=80), 0.2, seed) for seed in (0, 1))
    assert torch.equal(again.val_mask, data.val_mask)
    assert not torch.equal(other.val_mask, data.val_mask)


def test_labels_outside_both_parts_are_not_read() -> None:
    data = with_validation(small(), 0.3)
    data.train_mask = data.train_mask & (torch.arange(80) > 10)
    found = fit_model(data, NAMES, "herofilter", SMALL)
    hidden = data.clone()
    hidden.y = data.y.masked_fill(~(data.train_mask | data.val_mask), -1)
    again = fit_model(hidden, NAMES, "herofilter", SMALL)
    assert all(torch.equal(value, again.saved.state[k]) for k, value in found.saved.state.items())
    assert found.saved.metrics["val"] == again.saved.metrics["val"]


def test_the_temperature_can_be_left_out() -> None:
    data = with_validation(small(), 0.3)
    assert fit_model(data, NAMES, "mlp", SMALL, calibrate=False).saved.temperature == 1.0
    assert fit_model(data, NAMES, "mlp", SMALL).saved.temperature != 1.0


def test_the_measures_are_those_of_the_saved_model() -> None:
    saved = fitted().saved
    assert saved.graph is not None
    data = saved.graph.data
    probabilities = predict(saved, data)[data.val_mask]
    y = data.y[data.val_mask]
    loss = -probabilities.gather(1, y.unsqueeze(1)).log().mean()
    assert saved.metrics["val"]["log_loss"] == pytest.approx(float(loss))


def test_too_few_labels_are_told() -> None:
    with pytest.raises(GraphError) as caught:
        with_validation(Data(y=torch.tensor([0, 1, 0, 1, -1]), num_nodes=5), 0.2)
    assert str(caught.value) == (
        "y must have at least three nodes of some class, so that one can be set aside for "
        "validation (got 4 labelled nodes); label more nodes"
    )


def test_a_model_that_an_earlier_version_saved_is_still_read() -> None:
    """The folder is kept as the first version wrote it, with the predictions it gave then."""
    kept = Path(__file__).parents[2] / "fixtures"
    saved = SavedModel.load(kept / "model-format-1")
    # which was a setting then
    assert "resolved: true" in (kept / "model-format-1" / "config.yaml").read_text()
    assert saved.resolved
    own = saved.training_graph
    expected = read_table(kept / "model-format-1-predictions.csv", "predictions")
    assert own.ids.to_pylist() == expected["id"].to_pylist()
    found = predictions_table(own.ids, saved.classes, predict(saved, own.data))
    assert found["prediction"].to_pylist() == expected["prediction"].to_pylist()
    for name in saved.classes:
        assert found[str(name)].to_pylist() == pytest.approx(
            expected[str(name)].to_pylist(), abs=1e-4
        )


def test_whether_settings_are_literal_is_no_setting(tmp_path: Path) -> None:
    fit = fitted(directed(), patcher="fast")
    fit.saved.save(tmp_path / "model")
    assert "resolved" not in (tmp_path / "model" / "config.yaml").read_text()
    assert fit.saved.config.patcher.directed == "keep"
    # the same patches from a graph that has no directions: what was resolved stays as it is
    data = symmetrise(directed())
    network = Predictor.load(tmp_path / "model").on(data).network
    assert network.patcher.slots == fit.network.patcher.slots
    assert Predictor.load(tmp_path / "model").on(data).predict_proba().shape == (data.num_nodes, 3)
