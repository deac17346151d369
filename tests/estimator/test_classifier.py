import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from herofilter import HeroFilterClassifier, HeroFilterError, SavedModel, list_models
from herofilter.data import csbm, select_split
from herofilter.errors import ConfigError, GraphError, RunError
from herofilter.estimator.sklearn_contract import Parameters

MODELS = [entry.name for entry in list_models()]
WORDS = np.array(["ant", "bee", "cat"])


def graph(num_nodes: int = 90, seed: int = 1) -> Data:
    degree = min(6, num_nodes // 4)
    return csbm(num_nodes=num_nodes, num_classes=3, average_degree=degree, seed=seed)


def quick(**changes: Any) -> HeroFilterClassifier:
    settings = {"model": "herofilter", "epochs": 6, "hidden_channels": 8, "patch_size": 4}
    return HeroFilterClassifier(**{**settings, **changes})


def labels(data: Data, known: int = 60) -> np.ndarray:
    """Return words for the first nodes, and None for the rest."""
    words = WORDS[data.y].astype(object)
    words[known:] = None
    return words


def fitted(**changes: Any) -> HeroFilterClassifier:
    data = graph()
    return quick(**changes).fit(data.x, labels(data), data.edge_index)


# --- three forms of a graph


def test_features_and_edges() -> None:
    classifier = fitted()
    assert classifier.classes_.tolist() == WORDS.tolist()
    assert classifier.n_features_in_ == 32
    assert len(classifier.history_) == 6
    assert classifier.config_.model.hidden_channels == 8
    assert classifier.temperature_ == classifier.saved_.temperature
    found = classifier.predict_proba()
    assert found.shape == (90, 3)
    np.testing.assert_allclose(found.sum(1), 1)
    assert (classifier.predict() == WORDS[found.argmax(1)]).all()
    np.testing.assert_allclose(classifier.predict_proba([4, 70]), found[[4, 70]])
    check_is_fitted(classifier)


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_matrix, sp.coo_array, torch.as_tensor, np.ndarray.tolist]
)
def test_features_come_in_many_forms(form: Any) -> None:
    data = graph()
    x = np.where(data.x.numpy() > 1, data.x.numpy(), 0)
    reference = quick().fit(torch.from_numpy(x), labels(data), data.edge_index)
    other = quick().fit(form(x), labels(data), data.edge_index.numpy().astype(np.int32))
    np.testing.assert_allclose(other.predict_proba(), reference.predict_proba(), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (lambda y: WORDS[y], ["ant", "bee", "cat"]),
        (lambda y: WORDS[y].tolist(), ["ant", "bee", "cat"]),
        (lambda y: y * 10 + 5, [5, 15, 25]),
        (lambda y: torch.from_numpy(y), [0, 1, 2]),
        (lambda y: y.astype(np.float32), [0, 1, 2]),
        (lambda y: y == 1, [False, True]),
        (lambda y: y[:, None], [0, 1, 2]),
        (lambda y: y.astype(np.uint8), [0, 1, 2]),
    ],
)
def test_labels_come_in_many_forms(given: Any, classes: list[Any]) -> None:
    data = graph()
    classifier = quick(model="mlp").fit(data.x, given(data.y.numpy()), data.edge_index)
    assert classifier.classes_.tolist() == classes
    assert set(classifier.predict().tolist()) <= set(classes)
    assert [type(value) for value in classifier.saved_.classes] == [type(v) for v in classes]


@pytest.mark.parametrize("missing", [None, float("nan"), -1])
def test_all_forms_of_a_missing_label_are_the_same(missing: Any) -> None:
    data = graph()
    y = data.y.numpy().astype(object)
    y[60:] = missing
    words = quick().fit(data.x, labels(data), data.edge_index)
    assert (quick().fit(data.x, y, data.edge_index).predict_proba() == words.predict_proba()).all()


def test_a_missing_value_of_pandas_is_no_label() -> None:
    pandas = pytest.importorskip("pandas")
    y = pandas.Series([0, 1, None, 0, 1, 0, 1, 0, 1, 0], dtype="Int64")
    data = graph(10)
    classifier = quick(model="mlp").fit(data.x, y, data.edge_index)
    assert classifier.saved_.graph is not None
    assert (classifier.saved_.graph.data.y < 0).tolist() == [i == 2 for i in range(10)]


def test_node_indices_of_a_graph() -> None:
    data = graph()
    nodes = torch.randperm(90, generator=torch.Generator().manual_seed(0)).numpy()
    train, test = nodes[:60], nodes[60:]
    classifier = quick(graph=data).fit(train, WORDS[data.y[train]])
    every = np.full(90, None, dtype=object)
    every[train] = WORDS[data.y[train]]
    other = quick().fit(data.x, every, data.edge_index)
    assert (classifier.predict_proba() == other.predict_proba()).all()
    column = classifier.predict_proba(test.reshape(-1, 1))
    assert (column == classifier.predict_proba(test)).all()
    right = classifier.predict(test) == WORDS[data.y[test]]
    assert classifier.score(test, WORDS[data.y[test]]) == right.mean()


def test_the_labels_of_the_graph_are_never_read() -> None:
    data, other = graph(), graph()
    other.y = torch.zeros_like(other.y)
    other.train_mask = None
    nodes = np.arange(50)
    one, two = (quick(graph=g).fit(nodes, data.y[nodes]) for g in (data, other))
    assert (one.predict_proba() == two.predict_proba()).all()


def test_a_graph_with_masks() -> None:
    data = select_split(graph(), 0)
    classifier = quick().fit(data)
    kept = classifier.saved_.graph
    assert kept is not None
    assert torch.equal(kept.data.train_mask, data.train_mask)
    assert torch.equal(kept.data.val_mask, data.val_mask)
    hidden = data.clone()
    hidden.y[data.test_mask] = -1
    assert (quick().fit(hidden).predict_proba() == classifier.predict_proba()).all()
    assert classifier.score(data, data.y) > 0


def test_a_graph_without_masks_or_features() -> None:
    data = graph()
    data = Data(edge_index=data.edge_index, y=data.y, num_nodes=90)
    classifier = quick().fit(data)
    assert classifier.predict_proba(data).shape == (90, 3)
    assert (classifier.predict_proba(data) == classifier.predict_proba()).all()


def test_weights_of_edges_are_read() -> None:
    data = graph()
    weight = np.linspace(0.1, 5.0, data.edge_index.size(1))
    plain = fitted().predict_proba()
    weighted = quick().fit(data.x, labels(data), data.edge_index, edge_weight=weight)
    assert not np.allclose(weighted.predict_proba(), plain)
    again = weighted.predict_proba(data.x, data.edge_index, weight)
    assert (again == weighted.predict_proba()).all()


def test_a_graph_smaller_than_the_recommended_patch() -> None:
    ring = np.array([range(8), [*range(1, 8), 0]])
    classifier = HeroFilterClassifier(epochs=3).fit(np.eye(8), [0, 1] * 4, ring)
    assert classifier.predict().shape == (8,)


# --- new nodes


@pytest.mark.parametrize("patcher", ["spectral", "fast"])
def test_new_nodes_are_predicted(patcher: str) -> None:
    full = csbm(num_nodes=300, num_classes=3, heterophily=0.1, seed=2)
    old = full.subgraph(torch.arange(300) < 200)
    classifier = HeroFilterClassifier(patcher=patcher, epochs=60)
    classifier.fit(old.x, WORDS[old.y], old.edge_index)
    found = classifier.predict(full.x, full.edge_index)
    assert found.shape == (300,)
    assert (found == WORDS[full.y])[200:].mean() > 0.75
    as_data = classifier.predict(Data(x=full.x, edge_index=full.edge_index))
    assert (as_data == found).all()
    right = (found == WORDS[full.y]).mean()
    assert classifier.score(full.x, WORDS[full.y], full.edge_index) == right


@pytest.mark.parametrize("with_labels", [False, True])
def test_the_fitted_graph_is_recognised(with_labels: bool) -> None:
    data = graph()
    classifier = fitted()
    again = data if with_labels else Data(x=data.x, edge_index=data.edge_index)
    assert (classifier.predict_proba(again) == classifier.predict_proba()).all()


# --- scikit-learn's contract


def test_parameters_are_kept_as_they_are() -> None:
    data = graph()
    classifier = HeroFilterClassifier(graph=data, patch_size=5)
    params = classifier.get_params()
    assert params["graph"] is data
    assert params["patch_size"] == 5
    assert params["lr"] is None
    assert classifier.set_params(lr=0.1).lr == 0.1
    assert is_classifier(classifier)
    copy = clone(classifier)
    assert copy is not classifier
    assert {k: v for k, v in copy.get_params().items() if k != "graph"} == {
        k: v for k, v in classifier.get_params().items() if k != "graph"
    }
    assert not hasattr(copy, "saved_")


def test_cross_validation() -> None:
    data = graph()
    scores = cross_val_score(quick(graph=data), np.arange(90), WORDS[data.y], cv=3)
    assert scores.shape == (3,)
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_grid_search() -> None:
    data = graph()
    search = GridSearchCV(quick(graph=data), {"patch_size": [2, 4], "lr": np.array([0.01])}, cv=2)
    search.fit(np.arange(60).reshape(-1, 1), WORDS[data.y[:60]])
    assert search.best_params_["patch_size"] in (2, 4)
    assert search.predict(np.arange(60, 90)).shape == (30,)
    assert search.best_estimator_.config_.patcher.patch_size == search.best_params_["patch_size"]


def test_the_same_seed_gives_the_same_result() -> None:
    one, two, other = fitted(), fitted(), fitted(random_state=1)
    assert (one.predict_proba() == two.predict_proba()).all()
    assert all(torch.equal(value, two.saved_.state[k]) for k, value in one.saved_.state.items())
    assert not (one.predict_proba() == other.predict_proba()).all()
    assert fitted(random_state=None).predict().shape == (90,)


def test_fitting_leaves_the_random_state_and_the_data() -> None:
    data = graph()
    before = torch.random.get_rng_state()
    y, x, edges = labels(data), data.x.clone(), data.edge_index.clone()
    quick().fit(x, y, edges)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(x, data.x)
    assert torch.equal(edges, data.edge_index)
    assert (y == labels(data)).all()


def test_fitting_again_starts_from_scratch() -> None:
    classifier, data = fitted(), graph()
    classifier.fit(data.x, data.y == 0, data.edge_index)
    assert classifier.classes_.tolist() == [False, True]
    classifier.fit(data.x, labels(data), data.edge_index)
    assert (classifier.predict_proba() == fitted().predict_proba()).all()


def test_a_fitted_classifier_can_be_pickled() -> None:
    classifier = fitted()
    again = pickle.loads(pickle.dumps(classifier))
    assert (again.predict_proba() == classifier.predict_proba()).all()


def test_settings_reach_the_model() -> None:
    config = fitted(
        dropout=0.1, aggregation="mean", num_layers=2, weight_decay=0.0, class_weights=True
    ).config_
    assert (config.model.dropout, config.model.aggregation) == (0.1, "mean")
    assert (config.model.num_layers, config.train.weight_decay) == (2, 0.0)
    assert config.train.class_weights
    assert fitted(calibrate=False).temperature_ == 1.0


def test_auto_keeps_what_validation_prefers() -> None:
    data = graph()
    classifier = HeroFilterClassifier(epochs=3, hidden_channels=8)
    classifier.fit(data.x, labels(data), data.edge_index)
    assert classifier.saved_.model in ("herofilter", "gcn", "mlp")
    assert classifier.config_.model.hidden_channels == 8
    # a setting that members of the portfolio choose themselves is meant for HeroFilter
    assert fitted(model="auto").saved_.model == "herofilter"
    assert (fitted(model="auto").predict_proba() == fitted().predict_proba()).all()


# --- saved and loaded


@pytest.mark.parametrize("settings", [{}, {"patcher": "fast"}, {"model": "gcn"}])
def test_a_loaded_classifier_is_the_fitted_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    classifier = fitted(**settings)
    classifier.save(tmp_path / "model")
    loaded = HeroFilterClassifier.load(tmp_path / "model")
    assert (loaded.predict_proba() == classifier.predict_proba()).all()
    assert loaded.classes_.tolist() == classifier.classes_.tolist()
    assert loaded.history_ == classifier.history_
    assert loaded.get_params()["hidden_channels"] == 8
    extended = graph(120)
    one, two = (c.predict_proba(extended.x, extended.edge_index) for c in (loaded, classifier))
    assert (one == two).all()
    assert SavedModel.load(tmp_path / "model").metrics == classifier.saved_.metrics


def test_auto_is_saved_and_loaded(tmp_path: Path) -> None:
    data = graph()
    data = Data(edge_index=data.edge_index, y=data.y, num_nodes=90)
    classifier = HeroFilterClassifier(epochs=3).fit(data)
    classifier.save(tmp_path / "model")
    loaded = HeroFilterClassifier.load(tmp_path / "model")
    assert (loaded.predict_proba() == classifier.predict_proba()).all()
    assert (loaded.predict_proba(data) == classifier.predict_proba()).all()


# --- what is refused


def test_not_fitted_is_told(tmp_path: Path) -> None:
    text = "this HeroFilterClassifier must be fitted first"
    with pytest.raises(NotFittedError, match=text):
        quick().predict()
    with pytest.raises(NotFittedError, match=text):
        quick().save(tmp_path / "model")


FEW = graph(10)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            (FEW.x, None, FEW.edge_index),
            ConfigError,
            "y must be given (HeroFilterClassifier requires y to be passed, but the target y is "
            "None); mark single nodes without a label with -1",
        ),
        (
            (FEW, FEW.y),
            ConfigError,
            "y and edge_index must be left out when X is a Data (got some), since it holds both",
        ),
        (
            (FEW,),
            GraphError,
            "masks must be one-dimensional (got several splits); choose one with "
            "select_split(data, 0)",
        ),
        (
            (FEW.x, FEW.y[:7], FEW.edge_index),
            GraphError,
            "y must have one label per node of X (got 7 labels for 10 nodes); "
            "mark nodes without a label with None or -1",
        ),
        (
            (FEW.x, torch.nn.functional.one_hot(FEW.y, 3), FEW.edge_index),
            GraphError,
            "y must hold one label per node (got several): multi-label targets aren't "
            "supported; train one classifier per label",
        ),
        (
            (FEW.x, [["a"], ["a", "b"], *[["b"]] * 8], FEW.edge_index),
            GraphError,
            "y must hold one label per node (got several): multi-label targets aren't "
            "supported; train one classifier per label",
        ),
        (
            (FEW.x, np.linspace(0, 1, 10), FEW.edge_index),
            GraphError,
            "y must hold classes (got continuous numbers such as 0.111111): regression isn't "
            "supported; make classes of the numbers, for instance by quantiles",
        ),
        (
            (FEW.x, ["a", 1] * 5, FEW.edge_index),
            GraphError,
            "y must hold labels of one kind (got numbers and text); make them all text, "
            "for instance",
        ),
        (
            (FEW.x, ["a"] * 10, FEW.edge_index),
            GraphError,
            "y must hold at least two classes (got 1 class); there is nothing to tell apart",
        ),
        (
            (FEW.x, [-1, 1] * 5, FEW.edge_index),
            GraphError,
            "y must hold at least two classes (got 1 class); -1 stands for no label, so a class "
            "must be called otherwise",
        ),
        (
            (FEW.x[:, 0], FEW.y, FEW.edge_index),
            GraphError,
            "X must be a matrix, a row of features per node (got shape [10]); "
            "give one feature as a column",
        ),
        (
            ([["a"]] * 10, FEW.y, FEW.edge_index),
            GraphError,
            "X must be a matrix of numbers, a row of features per node (could not convert string "
            "to float: 'a'); give a data frame to have other columns encoded, or read a table "
            "with read_graph",
        ),
        (
            (FEW.x, FEW.y, FEW.edge_index + 5),
            GraphError,
            "edges must join rows of X, which are 0 to 9 (got 5 to 14); number the nodes from 0 "
            "or, to train on some rows of a graph, give graph= to the constructor and node "
            "indices as X",
        ),
        (
            (FEW.x, FEW.y, np.array([[0.5], [1.0]])),
            GraphError,
            "edge_index must be of type torch.int64 (got torch.float64); convert it with .long()",
        ),
    ],
)
def test_what_fit_refuses(arguments: tuple[Any, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        quick().fit(*arguments)
    assert isinstance(caught.value, HeroFilterError)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("nodes", "y", "text"),
    [
        (FEW.x, FEW.y, "X must be a vector of node indices (got shape [10, 32]); "),
        ([0, 1, 10], [0, 1, 0], "X must hold node indices from 0 to 9 (got 0 to 10)"),
        ([0.5, 1.0], [0, 1], "X must hold node indices, which are integers (got float64); "),
        ([True, False], [0, 1], "X must hold node indices, which are integers (got bool); "),
        ([1, 2, 1], ["a", "b", "b"], "a node that X names twice must have the same label each "),
        ([1, 2, 3], ["a", "b"], "y must have one label per node of X (got 2 labels for 3 nodes"),
    ],
)
def test_which_nodes_are_refused(nodes: Any, y: Any, text: str) -> None:
    with pytest.raises(GraphError) as caught:
        quick(graph=FEW).fit(nodes, y)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"model": "herofliter"},
            f"model must be one of auto, {', '.join(MODELS)} (got 'herofliter') "
            "(did you mean 'herofilter'?)",
        ),
        ({"val_fraction": 1.0}, "val_fraction must be above 0 and below 1 (got 1)"),
        ({"epochs": 0}, "epochs must be at least 1 (got 0)"),
        ({"dropout": "much"}, "dropout must be of type float (got 'much')"),
    ],
)
def test_impossible_parameters_are_refused_by_fit(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fitted(**settings)
    assert str(caught.value) == text


def test_what_predict_and_score_refuse() -> None:
    classifier, data = fitted(), graph()
    with pytest.raises(GraphError, match="X must have the columns of training"):
        classifier.predict(data.x[:, :5], data.edge_index)
    with pytest.raises(GraphError, match=r"at least one label to score against \(got none\)"):
        classifier.score([0, 1], [-1, -1])


def test_a_model_without_its_graph_is_told(tmp_path: Path) -> None:
    saved = fitted().saved_
    SavedModel(saved.model, saved.config, 32, saved.classes, saved.state).save(tmp_path / "model")
    loaded = HeroFilterClassifier.load(tmp_path / "model")
    data = graph()
    assert loaded.predict(data.x, data.edge_index).shape == (90,)
    with pytest.raises(RunError, match="must have been saved with its graph"):
        loaded.predict()


# --- without scikit-learn


class Toy(Parameters):
    def __init__(self, *, depth: int = 2, name: str = "toy") -> None:
        self.depth, self.name = depth, name


def test_the_stand_in_for_scikit_learn() -> None:
    toy = Toy(depth=3)
    assert toy.get_params() == {"depth": 3, "name": "toy"}
    assert repr(toy.set_params(name="ball")) == "Toy(depth=3, name='ball')"
    with pytest.raises(ConfigError) as caught:
        toy.set_params(dept=1)
    assert str(caught.value) == (
        "a parameter must be one of depth, name (got 'dept') (did you mean 'depth'?)"
    )


WITHOUT = """
import importlib.util, sys
import herofilter
print("sklearn" in sys.modules)
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "sklearn" else find(name, *rest)
sys.modules["sklearn"] = None
data = herofilter.csbm(num_nodes=60, num_classes=3)
classifier = herofilter.HeroFilterClassifier(model="mlp", epochs=2)
try:
    classifier.predict()
except herofilter.errors.RunError as error:
    print(error)
classifier.fit(data.x, data.y, data.edge_index)
print(classifier, classifier.predict().shape, classifier.get_params()["epochs"])
"""


def test_scikit_learn_is_neither_needed_nor_imported_with_the_package() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "False",
        "this HeroFilterClassifier must be fitted first (got no data yet); "
        "call fit, or load a saved one",
        "HeroFilterClassifier(model='mlp', epochs=2) (60,) 2",
    ]
