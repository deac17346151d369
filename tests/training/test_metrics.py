import json
import math
import warnings

import numpy as np
import pytest
import torch
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from herofilter.errors import GraphError
from herofilter.training.metrics import (
    CONFIDENCE_BINS,
    auc,
    average_precision,
    calibration_error,
    class_auc,
    class_average_precision,
    class_weights,
    full_score,
    score,
)


def drawn(nodes: int, classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(nodes, classes, generator=generator)
    y = torch.multinomial(torch.softmax(logits, 1), 1, generator=generator).view(-1)
    return logits, y


def test_score_by_hand() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    found = score(logits, torch.tensor([0, 1, 1]))
    assert found.accuracy == pytest.approx(2 / 3)
    losses = [math.log1p(math.exp(-2)), math.log1p(math.exp(-1)), math.log1p(math.exp(3))]
    assert found.loss == pytest.approx(sum(losses) / 3, rel=1e-5)


@pytest.mark.parametrize(("nodes", "classes"), [(200, 2), (300, 5), (9, 7), (1, 3)])
def test_full_score_agrees_with_scikit_learn(nodes: int, classes: int) -> None:
    logits, y = drawn(nodes, classes)
    found = full_score(logits, y)
    truth = y.numpy()
    labels = list(range(classes))
    probabilities = torch.softmax(logits.double(), 1).numpy()
    predicted = probabilities.argmax(1)
    assert found["accuracy"] == pytest.approx(oracle.accuracy_score(truth, predicted))
    with warnings.catch_warnings():
        # it is told of classes that were predicted but don't occur, or that it sees but one
        warnings.simplefilter("ignore")
        assert found["balanced_accuracy"] == pytest.approx(
            oracle.balanced_accuracy_score(truth, predicted)
        )
    assert found["macro_f1"] == pytest.approx(
        oracle.f1_score(truth, predicted, average="macro", zero_division=0)
    )
    assert found["log_loss"] == pytest.approx(oracle.log_loss(truth, probabilities, labels=labels))
    parts = oracle.precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=np.nan
    )
    for number, entry in enumerate(found["classes"]):
        precision, recall, _, count = (part[number] for part in parts)
        assert entry["count"] == count
        assert entry["predicted"] == int((predicted == number).sum())
        for name, expected in (("precision", precision), ("recall", recall)):
            known = entry[name] is not None
            assert known == (not math.isnan(expected))
            assert not known or entry[name] == pytest.approx(expected)


@pytest.mark.parametrize("nodes", [40, 3000])
def test_the_calibration_error_agrees_with_scikit_learn(nodes: int) -> None:
    logits, y = drawn(nodes, 3, seed=3)
    probabilities = torch.softmax(2 * logits.double(), 1)
    confidence, predicted = probabilities.max(1)
    right = (predicted == y).numpy()
    share, mean = calibration_curve(right, confidence.numpy(), n_bins=CONFIDENCE_BINS)
    edges = np.linspace(0, 1, CONFIDENCE_BINS + 1)[1:-1]
    count = np.bincount(np.searchsorted(edges, confidence.numpy()), minlength=CONFIDENCE_BINS)
    expected = (np.abs(share - mean) * count[count > 0]).sum() / nodes
    assert calibration_error(probabilities, y) == pytest.approx(expected)


def test_confidence_at_both_ends_is_counted() -> None:
    sure = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert calibration_error(sure, torch.tensor([0, 1])) == pytest.approx(0.5)
    assert calibration_error(torch.ones(2, 1), torch.zeros(2, dtype=torch.long)) == 0.0


@pytest.mark.parametrize("step", [1e-9, 0.5])
def test_auc_agrees_with_scikit_learn(step: float) -> None:
    logits, y = drawn(150, 2, seed=5)
    # the wide step makes many ties
    scores = ((logits[:, 1] - logits[:, 0]).double() / step).round() * step
    assert auc(scores, y == 1) == pytest.approx(oracle.roc_auc_score(y, scores))


@pytest.mark.parametrize("step", [1e-9, 0.5])
def test_average_precision_agrees_with_scikit_learn(step: float) -> None:
    logits, y = drawn(150, 2, seed=5)
    scores = ((logits[:, 1] - logits[:, 0]).double() / step).round() * step
    expected = oracle.average_precision_score(y, scores)
    assert average_precision(scores, y == 1) == pytest.approx(expected)
    assert average_precision(scores, y == 7) is None
    assert average_precision(scores, y >= 0) == 1.0


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_ranking_of_classes_agrees_with_scikit_learn(classes: int) -> None:
    logits, y = drawn(400, classes, seed=6)
    probabilities = torch.softmax(logits.double(), 1).numpy()
    found = full_score(logits, y)
    assert found["auc"] == class_auc(logits, y) == score(logits, y, with_auc=True).auc
    assert score(logits, y).auc is None
    if classes == 2:
        # of the second class
        probabilities = probabilities[:, 1]
        assert found["auc"] == pytest.approx(class_auc(logits.flip(1), 1 - y))
        assert found["average_precision"] != pytest.approx(
            class_average_precision(logits.flip(1), 1 - y)
        )
    expected = oracle.roc_auc_score(y, probabilities, multi_class="ovr", average="macro")
    assert found["auc"] == pytest.approx(expected)
    expected = oracle.average_precision_score(y, probabilities, average="macro")
    assert found["average_precision"] == pytest.approx(expected)


def test_classes_that_do_not_occur_are_left_out() -> None:
    logits, y = drawn(300, 5, seed=7)
    kept = (y != 1) & (y != 4)
    logits, y = logits[kept], y[kept]
    probabilities = torch.softmax(logits.double(), 1)
    for name, measure in (
        ("auc", oracle.roc_auc_score),
        ("average_precision", oracle.average_precision_score),
    ):
        expected = [measure(y == number, probabilities[:, number]) for number in (0, 2, 3)]
        assert full_score(logits, y)[name] == pytest.approx(np.mean(expected))


def test_probabilities_that_round_to_one_are_still_ranked() -> None:
    logits = torch.tensor([[60.0, 0.0, 0.0], [50.0, 0.0, 0.0], [0.0, 60.0, 0.0]])
    assert torch.softmax(logits.double(), 1)[:2, 0].tolist() == [1.0, 1.0]
    assert class_auc(logits, torch.tensor([0, 2, 1])) == 1.0


def test_auc_needs_two_classes_that_occur() -> None:
    assert full_score(*drawn(50, 2))["auc"] is not None
    alone = torch.ones(4, dtype=torch.long)
    for classes in (2, 3):
        found = full_score(torch.randn(4, classes), alone)
        assert (found["auc"], found["average_precision"]) == (None, 1.0)
    assert full_score(torch.randn(4, 2), 0 * alone)["average_precision"] is None
    assert full_score(torch.randn(4, 1), 0 * alone)["auc"] is None


def test_the_measures_are_ready_for_json() -> None:
    found = full_score(torch.randn(4, 3), torch.tensor([0, 0, 1, 1]))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_nothing_to_measure_is_told() -> None:
    with pytest.raises(GraphError) as caught:
        full_score(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
    assert str(caught.value) == "there must be at least one node to measure (got none)"


def test_class_weights_are_inverse_to_frequency() -> None:
    y = torch.tensor([0, 0, 0, 0, 1, 1, 2, 2])
    weight = class_weights(y, 3)
    assert weight[1] == weight[2] == 2 * weight[0]
    assert float(weight[y].mean()) == pytest.approx(1.0)
    # every class has the same say in all
    total = torch.zeros(3).index_add_(0, y, weight[y])
    torch.testing.assert_close(total, total[:1].expand(3))


def test_class_weights_of_an_absent_class_are_finite() -> None:
    weight = class_weights(torch.tensor([0, 2, 2]), 4)
    assert weight.shape == (4,)
    assert torch.isfinite(weight).all()
