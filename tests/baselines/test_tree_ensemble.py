"""Trees as arrays: scikit-learn's predictions to the bit, and no damaged tree is followed."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Tensor

from herofilter.baselines import tree_ensemble
from herofilter.baselines.tree_ensemble import TreeEnsemble
from herofilter.files import DamagedFileError


def grown(num_classes: int, rounds: int = 15) -> tuple[TreeEnsemble, np.ndarray, np.ndarray]:
    """Return an ensemble, a table that it wasn't grown on, and scikit-learn's probabilities."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((300, 5)).astype(np.float32)
    y = (table[:, 0] + 0.5 * rng.standard_normal(300) > 0).astype(int)
    y = y + (table[:, 1] > 0.3) * (num_classes > 2)
    estimator = HistGradientBoostingClassifier(max_iter=rounds, early_stopping=False)
    estimator.fit(table, y)
    ensemble = TreeEnsemble(num_classes)
    start = estimator._baseline_prediction.reshape(-1)
    ensemble.clear(torch.from_numpy(np.unique(y)), 300, start, 5)
    for trees in estimator._predictors:
        ensemble.append([tree.nodes for tree in trees])
    other = rng.standard_normal((200, 5)).astype(np.float32)
    return ensemble, other, estimator.decision_function(other).reshape(200, -1)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_scores_are_those_of_scikit_learn(num_classes: int) -> None:
    ensemble, table, expected = grown(num_classes)
    assert ensemble.rounds == 15
    np.testing.assert_array_equal(ensemble.scores(table), expected)
    logits = ensemble(table)
    assert logits.shape == (200, num_classes)
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(200))
    assert torch.equal(logits.argmax(1), torch.from_numpy(_winners(expected)))


def _winners(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0).astype(np.int64)
    return scores.argmax(1)


def test_rounds_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble, table, expected = grown(3)
    monkeypatch.setattr(tree_ensemble, "ROWS_AT_ONCE", 7)
    scores = np.tile(ensemble.start.numpy(), (200, 1))
    full = ensemble.roots
    for count in range(1, 16):
        ensemble.roots = full[: 3 * count]
        ensemble.add_scores(table, scores, since=count - 1)
    np.testing.assert_array_equal(scores, expected)


def test_a_class_without_training_nodes_is_unlikely() -> None:
    ensemble = TreeEnsemble(3)
    ensemble.clear(torch.tensor([0, 2]), 9, np.array([0.5]), 4)
    probability = ensemble(np.zeros((1, 4), dtype=np.float32)).exp()[0]
    assert float(probability[1] / (probability[0] + probability[2])) == pytest.approx(1 / 10)
    assert float(probability[2] / probability[0]) == pytest.approx(np.exp(0.5))


def test_a_single_class_needs_no_trees() -> None:
    ensemble = TreeEnsemble(2)
    ensemble.clear(torch.tensor([1]), 3, np.empty(0), 4)
    assert ensemble(np.zeros((5, 4), dtype=np.float32)).argmax(1).tolist() == [1] * 5


def _moved(name: str, position: int, value: float) -> dict[str, Tensor]:
    ensemble, _, _ = grown(2)
    state = {key: entry.clone() for key, entry in ensemble.state_dict().items()}
    state[name][position] = value
    return state


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("feature", 5),
        ("left", 0),
        ("right", 10**6),
        ("left", -1),
        ("roots", 10**6),
        ("roots", -1),
        ("threshold", float("nan")),
        ("value", float("inf")),
        ("start", float("nan")),
        ("classes", 7),
        ("count", -1),
    ],
)
def test_trees_that_lead_nowhere_are_refused(name: str, value: float) -> None:
    state = _moved(name, 0, value)
    with pytest.raises(DamagedFileError) as caught:
        TreeEnsemble(2).make_room(state, "", 5)
    assert str(caught.value) == (
        "the trees of a booster must be numbered as they were saved (got some that lead nowhere); "
        "fit the model anew"
    )


def test_arrays_of_other_sizes_or_types_are_refused() -> None:
    ensemble, _, _ = grown(2)
    state = ensemble.state_dict()
    TreeEnsemble(2).make_room(state, "", 5)
    for changed in (
        {"value": state["value"][:-1]},
        {"roots": state["roots"].long()},
        {"start": torch.zeros(2).double()},
        {"classes": torch.empty(0).long()},
        {"feature": state["feature"].view(1, -1)},
    ):
        with pytest.raises(DamagedFileError, match="must be numbered as they were saved"):
            TreeEnsemble(2).make_room({**state, **changed}, "", 5)


def jit_cases() -> dict[str, np.ndarray]:
    """Return what the compiled loop gives."""
    ensemble, table, _ = grown(3, 3)
    return {"scores": ensemble.scores(table)}


def test_without_jit(without_jit: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(without_jit["scores"], jit_cases()["scores"])
