"""The forms in which X and the edges come: matrices again, edges, frames, pipelines."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric.data import Data

from herofilter import HeroFilterClassifier
from herofilter.data import csbm
from herofilter.errors import ConfigError, DatasetError, GraphError
from herofilter.estimator.edges import read_edges

DATA = csbm(num_nodes=60, num_classes=3, average_degree=4, seed=1)
X, Y, EDGES = DATA.x.numpy(), DATA.y.numpy(), DATA.edge_index.numpy()


def quick(**changes: Any) -> HeroFilterClassifier:
    settings = {"model": "herofilter", "epochs": 4, "hidden_channels": 8, "patch_size": 4}
    return HeroFilterClassifier(**{**settings, **changes})


@pytest.fixture(scope="module")
def fitted() -> HeroFilterClassifier:
    return quick().fit(X, Y, EDGES)


@pytest.fixture(scope="module")
def alone() -> HeroFilterClassifier:
    return quick(edges=[]).fit(X, Y)


def table(seed: int = 0, rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, rows),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo", "Bonn"], rows)),
            "member": rng.random(rows) < 0.5,
            "plan": rng.choice(["basic", "full"], rows),
        }
    )


def framed(**changes: Any) -> HeroFilterClassifier:
    return quick(**changes).fit(table(), Y, EDGES)


# --- the matrix of training again


@pytest.mark.parametrize(
    "form", [np.asarray, torch.from_numpy, np.ndarray.tolist, sp.csr_array, pd.DataFrame]
)
def test_the_training_matrix_is_the_fitted_graph(fitted: HeroFilterClassifier, form: Any) -> None:
    again = form(X)
    assert (fitted.predict_proba(again) == fitted.predict_proba()).all()
    assert fitted.score(again, Y) == (fitted.predict() == Y).mean()


def test_sparse_training_rows_are_recognised_up_to_rounding() -> None:
    x = sp.csr_array(np.where(X > 0.5, X, 0))
    classifier = quick(model="mlp").fit(x, Y, EDGES)
    nearly = x.copy()
    nearly.data = nearly.data * (1 + 1e-6)
    assert (classifier.predict_proba(nearly) == classifier.predict_proba()).all()
    nearly.data[0] *= 1.5
    with pytest.raises(GraphError, match="got other values than in training"):
        classifier.predict(nearly)


def test_a_column_of_large_values_hides_no_difference() -> None:
    x = np.column_stack([X, np.linspace(1e8, 2e8, 60)])
    classifier = quick(model="mlp").fit(x, Y, EDGES)
    assert classifier.predict(x).shape == (60,)
    x[3, 0] += 0.5
    with pytest.raises(GraphError, match="got other values than in training"):
        classifier.predict(x)


def test_writing_into_the_matrix_leaves_the_fitted_graph() -> None:
    x = X.copy()
    classifier = quick(model="mlp").fit(x, Y, EDGES)
    before = classifier.predict_proba()
    x[:] = 0
    assert (classifier.predict_proba() == before).all()
    with pytest.raises(GraphError, match="got other values than in training"):
        classifier.predict(x)


@pytest.mark.parametrize(
    ("other", "got"), [(X[:20], "20 rows"), (X + 1, "other values than in training")]
)
def test_other_rows_need_their_edges(fitted: HeroFilterClassifier, other: Any, got: str) -> None:
    with pytest.raises(GraphError) as caught:
        fitted.predict(other)
    assert str(caught.value) == (
        "X without edge_index must be the X of training, since the model was trained with edges "
        f"(got {got}; the fitted graph has 60 nodes); give the edges of these rows as edge_index "
        "([] for none), or indices of nodes of the fitted graph as a vector"
    )
    assert fitted.predict(other, []).shape == (len(other),)


def test_edges_of_the_constructor_stay_when_features_change() -> None:
    classifier = quick(edges=EDGES).fit(X, Y)
    assert (classifier.predict_proba() == quick().fit(X, Y, EDGES).predict_proba()).all()
    changed = classifier.predict_proba(X + 1)
    np.testing.assert_allclose(changed, classifier.predict_proba(X + 1, EDGES), atol=1e-6)
    assert not np.allclose(changed, classifier.predict_proba(X + 1, []))
    with pytest.raises(GraphError, match="got 20 rows"):
        classifier.predict(X[:20])
    found = permutation_importance(classifier, X[:, :], Y, n_repeats=1, random_state=0)
    assert found.importances.shape == (32, 1)


def test_vectors_are_indices_and_columns_are_features() -> None:
    one = X[:, :1]
    classifier = quick().fit(one, Y, EDGES)
    every = classifier.predict_proba()
    assert (classifier.predict_proba(one) == every).all()
    np.testing.assert_allclose(classifier.predict_proba([3, 1]), every[[3, 1]])
    np.testing.assert_allclose(classifier.predict_proba(pd.Series([3, 1])), every[[3, 1]])
    with pytest.raises(GraphError, match="got 2 rows; the fitted graph has 60 nodes"):
        classifier.predict([[3], [1]])
    of_graph = Data(x=torch.from_numpy(one), edge_index=DATA.edge_index)
    indexed = quick(graph=of_graph).fit(np.arange(60).reshape(-1, 1), Y)
    np.testing.assert_allclose(indexed.predict_proba([[3], [1]]), every[[3, 1]])
    np.testing.assert_allclose(indexed.predict_proba(pd.DataFrame({"n": [3, 1]})), every[[3, 1]])
    with pytest.raises(GraphError) as caught:
        classifier.predict(X[0])
    assert str(caught.value) == (
        "X as a vector must hold node indices, which are integers (got float32): "
        "Reshape your data with X.reshape(1, -1) if they are the features of one node"
    )


def test_a_graph_without_features_has_no_training_matrix() -> None:
    classifier = quick().fit(Data(edge_index=DATA.edge_index, y=DATA.y, num_nodes=60))
    with pytest.raises(GraphError, match="the fitted graph has no features"):
        classifier.predict(X)


# --- no edges at all


def test_without_edges_a_warning_says_what_happens() -> None:
    text = "X came without edges, so that each node is classified by its own features alone"
    with pytest.warns(UserWarning, match=text):
        silent = quick().fit(X, Y)
    explicit = quick(edges=[]).fit(X, Y)
    assert (silent.predict_proba() == explicit.predict_proba()).all()


@pytest.mark.parametrize("model", ["mlp", "gcn", "booster"])
def test_other_models_without_edges(model: str) -> None:
    classifier = quick(edges=[], model=model).fit(X, Y)
    np.testing.assert_allclose(
        classifier.predict_proba(X[[5, 2]]), classifier.predict_proba()[[5, 2]], atol=1e-6
    )


def test_rows_without_edges_are_independent(alone: HeroFilterClassifier) -> None:
    every = alone.predict_proba(X)
    assert (every == alone.predict_proba()).all()
    for rows in ([5], [5, 7], list(range(59, 20, -1))):
        np.testing.assert_allclose(alone.predict_proba(X[rows]), every[rows], atol=1e-6)
    new = csbm(num_nodes=30, num_classes=3, seed=5).x.numpy()
    assert alone.predict(new).shape == (30,)
    sparse = alone.predict_proba(sp.csr_array(X[[5]]))
    np.testing.assert_allclose(sparse, every[[5]], atol=1e-6)


def test_cross_validation_of_rows_without_edges() -> None:
    x, y = make_blobs(90, n_features=4, centers=3, random_state=0)
    scores = cross_val_score(quick(edges=[], epochs=30, lr=0.05), x, y, cv=3)
    assert scores.mean() > 0.8


# --- edges


@pytest.mark.parametrize(
    "form",
    [
        lambda: EDGES.T,
        lambda: torch.from_numpy(EDGES.T),
        lambda: EDGES.T.tolist(),
        lambda: pd.DataFrame({"source": EDGES[0], "target": EDGES[1]}),
        lambda: pd.DataFrame({"target": EDGES[1], "when": 1, "source": EDGES[0]}),
        lambda: pd.DataFrame({"one": EDGES[0], "two": EDGES[1]}),
        lambda: pd.DataFrame(EDGES.T),
        lambda: pa.table({"source": EDGES[0], "target": EDGES[1]}),
    ],
)
def test_edges_come_in_many_forms(form: Any) -> None:
    index, weight = read_edges(form())
    assert index.dtype == torch.long
    assert torch.equal(index, DATA.edge_index)
    assert weight is None


def test_edges_of_a_sparse_matrix() -> None:
    adjacency = sp.csr_array((np.ones(EDGES.shape[1]), EDGES), shape=(60, 60))
    index, weight = read_edges(adjacency)
    assert set(map(tuple, index.T.tolist())) == set(map(tuple, EDGES.T.tolist()))
    assert weight is None
    weighted = read_edges(adjacency * 3)[1]
    assert weighted is not None
    assert weighted.unique().tolist() == [3.0]
    with pytest.raises(GraphError, match=r"must be square.*got shape \[60, 32\]"):
        read_edges(sp.csr_array(X))


def test_two_edges_are_read_by_rows() -> None:
    assert read_edges([[0, 1], [2, 3]])[0].tolist() == [[0, 1], [2, 3]]
    assert read_edges([(0, 1), (2, 3), (4, 5)])[0].tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("none", [[], np.zeros((0, 2)), np.zeros((2, 0)), EDGES[:, :0]])
def test_what_is_empty_is_no_edges(none: Any) -> None:
    index = read_edges(none)[0]
    assert index.dtype == torch.long
    assert index.shape == (2, 0)


def test_weights_of_a_frame_are_read() -> None:
    weight = np.linspace(0.1, 5.0, EDGES.shape[1]).astype(np.float32)
    frame = pd.DataFrame({"source": EDGES[0], "target": EDGES[1], "Weight": weight})
    one, two = quick().fit(X, Y, frame), quick().fit(X, Y, EDGES.T, edge_weight=weight)
    assert (one.predict_proba() == two.predict_proba()).all()
    assert (one.predict_proba(X, frame) == one.predict_proba()).all()


@pytest.mark.parametrize(
    ("edges", "weight", "error", "text"),
    [
        (
            pd.DataFrame({"source": ["a"], "target": ["b"]}),
            None,
            GraphError,
            "the column 'source' of the edges must hold row numbers of X, from 0 (got ",
        ),
        (
            pd.DataFrame({"source": [0, None], "target": [1, 2]}),
            None,
            GraphError,
            "the column 'source' of the edges must hold row numbers of X, from 0 (got missing",
        ),
        (
            pd.DataFrame({"source": [0], "target": [1], "weight": ["much"]}),
            None,
            GraphError,
            "the column 'weight' of the edges must hold numbers (got ",
        ),
        (
            pd.DataFrame({"source": [0], "target": [1], "weight": [2.0]}),
            [1.0],
            ConfigError,
            "the weights of edges must be given once (got edge_weight, and edges with weights)",
        ),
        (pd.DataFrame({"source": [0]}), None, DatasetError, "the edges must have two columns"),
        ([["a", "b"]], None, GraphError, "edge_index must be two rows or two columns of row "),
    ],
)
def test_which_edges_are_refused(edges: Any, weight: Any, error: Any, text: str) -> None:
    with pytest.raises(error) as caught:
        quick().fit(X, Y, edges, weight)
    assert str(caught.value).startswith(text)


def test_edges_beyond_the_rows_are_refused(fitted: HeroFilterClassifier) -> None:
    text = (
        r"edges must join rows of X, which are 0 to 19 \(got 0 to 59\); number the nodes from 0 "
        "or, to train on some rows of a graph, give graph= to the constructor and node indices"
    )
    with pytest.raises(GraphError, match=text):
        quick(edges=EDGES).fit(X[:20], Y[:20])
    with pytest.raises(GraphError, match=text):
        fitted.predict(X[:20], EDGES)


def test_contradictions_are_refused(fitted: HeroFilterClassifier) -> None:
    with pytest.raises(ConfigError, match="graph and edges must not both be set"):
        quick(graph=DATA, edges=EDGES).fit(np.arange(60), Y)
    with pytest.raises(ConfigError, match="edge_weight must come with edge_index"):
        fitted.predict(X, edge_weight=[1.0])
    with pytest.raises(ConfigError, match="edge_weight must come with edge_index"):
        quick().fit(X, Y, edge_weight=[1.0])


# --- data frames


def test_a_frame_is_encoded() -> None:
    classifier = framed()
    assert classifier.feature_names_in_.tolist() == ["age", "town", "member", "plan"]
    assert classifier.n_features_in_ == 4
    # a number, three towns, a boolean, two plans
    assert classifier.saved_.in_channels == 7
    assert (classifier.predict_proba(table()) == classifier.predict_proba()).all()
    shuffled = table()[["plan", "town", "age", "member"]].assign(more=1)
    assert (classifier.predict_proba(shuffled) == classifier.predict_proba()).all()


def test_row_labels_of_a_frame_mean_nothing() -> None:
    named = table().set_index(pd.Index([f"p{i}" for i in range(60)], name="person"))
    classifier = framed()
    assert (classifier.predict_proba(named) == classifier.predict_proba()).all()
    other = quick().fit(named, Y, EDGES)
    assert (other.predict_proba() == classifier.predict_proba()).all()


def test_later_frames_may_have_gaps_and_new_values() -> None:
    classifier, later = framed(), table(seed=3, rows=12)
    later["town"] = later["town"].astype(object)
    later.loc[0, "town"], later.loc[1, "age"] = "Nowhere", np.nan
    ring = np.stack([np.arange(12), np.roll(np.arange(12), 1)])
    assert np.isfinite(classifier.predict_proba(later, ring)).all()


def test_a_frame_without_a_column_of_training_is_refused() -> None:
    with pytest.raises(GraphError) as caught:
        framed().predict(table().rename(columns={"town": "towns"}))
    assert str(caught.value) == (
        "X must have the column 'town' of training (got 'age', 'towns', 'member', 'plan') "
        "(did you mean 'towns'?)"
    )


def test_a_matrix_after_a_frame_has_its_columns_in_order() -> None:
    classifier = framed()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        found = classifier.predict_proba(table().to_numpy(dtype=object))
    assert (found == classifier.predict_proba()).all()
    with pytest.raises(GraphError, match="X has 3 features, but HeroFilterClassifier is expect"):
        classifier.predict(np.zeros((60, 3)))


def test_columns_of_mixed_kinds_are_refused() -> None:
    mixed = table().astype(object)
    mixed.loc[3, "age"] = "old"
    with pytest.raises(DatasetError, match="the columns of the data frame X must have"):
        quick().fit(mixed, Y, EDGES)
    classifier = framed()
    with (
        pytest.warns(UserWarning, match="X does not have valid feature names"),
        pytest.raises(GraphError, match="each column of X must hold one kind of value"),
    ):
        classifier.predict(mixed.to_numpy(dtype=object))


def test_a_frame_without_usable_columns_has_the_degrees() -> None:
    with pytest.warns(UserWarning, match="the degrees of nodes are their features"):
        classifier = quick().fit(pd.DataFrame({"same": [1] * 60}), Y, EDGES)
    again = classifier.predict_proba(pd.DataFrame({"same": [1] * 60}))
    assert (again == classifier.predict_proba()).all()


def test_columns_that_are_left_out_are_told() -> None:
    with pytest.warns(UserWarning, match="column 'same' was left out: every row says the same"):
        classifier = quick().fit(table().assign(same=1), Y, EDGES)
    assert classifier.n_features_in_ == 5
    # what isn't used isn't needed
    assert (classifier.predict_proba(table()) == classifier.predict_proba()).all()


def test_a_classifier_of_a_frame_is_saved_and_loaded(tmp_path: Path) -> None:
    classifier = framed()
    classifier.save(tmp_path / "model")
    loaded = HeroFilterClassifier.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == classifier.feature_names_in_.tolist()
    assert (loaded.predict_proba(table()) == classifier.predict_proba()).all()


def test_names_are_forgotten_by_a_fit_without_them() -> None:
    classifier = framed()
    classifier.fit(X, Y, EDGES)
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.n_features_in_ == 32


@pytest.mark.parametrize(
    "empty", [pd.DataFrame({"a": []}), pd.DataFrame(index=range(3)), np.zeros((0, 3))]
)
def test_empty_features_are_refused(empty: Any) -> None:
    with pytest.raises(GraphError, match="X must have rows and columns"):
        quick(edges=[]).fit(empty, Y[: len(empty)])


def test_ragged_rows_are_refused(fitted: HeroFilterClassifier) -> None:
    with pytest.raises(GraphError, match="give rows of one length"):
        fitted.predict([[1.0, 2.0], [3.0]])


# --- inside scikit-learn


@pytest.mark.parametrize("step", [StandardScaler(), PCA(5)])
def test_the_last_step_of_a_pipeline(step: Any) -> None:
    pipeline = make_pipeline(step, quick(edges=EDGES)).fit(X, Y)
    every = pipeline[-1].predict_proba()
    assert (pipeline.predict_proba(X) == every).all()
    assert pipeline.score(X, Y) == (every.argmax(1) == Y).mean()
    given = make_pipeline(step, quick()).fit(X, Y, herofilterclassifier__edge_index=EDGES)
    assert (given.predict_proba(X) == every).all()
    new = csbm(num_nodes=40, num_classes=3, seed=7)
    assert given.predict(new.x.numpy(), edge_index=new.edge_index).shape == (40,)


def test_a_search_over_a_pipeline_without_edges() -> None:
    pipeline = make_pipeline(StandardScaler(), quick(edges=[], model="mlp"))
    search = GridSearchCV(pipeline, {"herofilterclassifier__lr": [0.01, 0.05]}, cv=2)
    assert search.fit(X, Y).predict(X[:7]).shape == (7,)
