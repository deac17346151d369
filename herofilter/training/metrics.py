"""What is measured on a set of nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from herofilter.errors import GraphError

CONFIDENCE_BINS = 15


@dataclass(frozen=True)
class Score:
    """Accuracy, mean cross-entropy and, if it was asked for, the AUC on a set of nodes."""

    accuracy: float
    loss: float
    auc: float | None = None


def score(logits: Tensor, y: Tensor, with_auc: bool = False) -> Score:
    """Return accuracy and loss of ``logits`` ``[b, C]`` against labels ``[b]``.

    ``with_auc`` adds :func:`class_auc`, which sorts the nodes once per class.

    Example:
        >>> score(torch.tensor([[9.0, 0.0], [9.0, 0.0]]), torch.tensor([0, 1])).accuracy
        0.5
    """
    right = int((logits.argmax(dim=1) == y).sum())
    return Score(
        right / max(y.numel(), 1),
        float(cross_entropy(logits, y)),
        class_auc(logits, y) if with_auc else None,
    )


def full_score(logits: Tensor, y: Tensor) -> dict[str, Any]:
    """Return all measures of ``logits`` ``[b, C]`` against labels ``[b]``, ready for JSON.

    Balanced accuracy is the mean recall of the classes that occur in ``y``; macro F1 the mean
    over those that occur in ``y`` or were predicted. Probabilities are the softmax of the
    logits, so divide them by the temperature first.

    Returns:
        ``accuracy``, ``balanced_accuracy``, ``macro_f1``, ``log_loss``, ``calibration_error``,
        ``auc`` (:func:`class_auc`), ``average_precision``
        (:func:`class_average_precision`), and ``classes``: per class ``count``, ``predicted``,
        ``precision``, ``recall`` and ``f1``. Precision is None for a class that was never
        predicted, recall for one that doesn't occur.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
        >>> found = full_score(logits, torch.tensor([0, 1, 1]))
        >>> found["balanced_accuracy"], found["auc"], found["classes"][0]["precision"]
        (0.75, 1.0, 0.5)
    """
    if not y.numel():
        raise GraphError("there must be at least one node to measure (got none)")
    logits = logits.double()
    num_classes = logits.size(1)
    predicted = logits.argmax(dim=1)
    count, chosen, hits = (
        torch.bincount(values, minlength=num_classes).tolist()
        for values in (y, predicted, y[predicted == y])
    )
    classes = [
        {
            "count": n,
            "predicted": p,
            "precision": hit / p if p else None,
            "recall": hit / n if n else None,
            "f1": 2 * hit / (n + p) if n + p else None,
        }
        for n, p, hit in zip(count, chosen, hits, strict=True)
    ]
    return {
        "accuracy": sum(hits) / y.numel(),
        "balanced_accuracy": _mean_known([entry["recall"] for entry in classes]),
        "macro_f1": _mean_known([entry["f1"] for entry in classes]),
        "log_loss": float(cross_entropy(logits, y)),
        "calibration_error": calibration_error(torch.softmax(logits, dim=1), y),
        "auc": class_auc(logits, y),
        "average_precision": class_average_precision(logits, y),
        "classes": classes,
    }


def calibration_error(probabilities: Tensor, y: Tensor) -> float:
    r"""Return the expected calibration error over 15 bins of confidence of equal width.

    .. math::
        \sum_b \frac{n_b}{n}\,|\mathrm{accuracy}_b - \mathrm{confidence}_b|

    Example:
        >>> sure = torch.tensor([[0.75, 0.25], [0.75, 0.25]])
        >>> calibration_error(sure, torch.tensor([0, 1]))
        0.25
    """
    confidence, predicted = probabilities.double().max(dim=1)
    # a bin holds its upper end, not its lower
    bins = (confidence * CONFIDENCE_BINS).ceil().long().sub(1).clamp(0, CONFIDENCE_BINS - 1)
    surplus = (predicted == y).double() - confidence
    total = torch.zeros(CONFIDENCE_BINS, dtype=torch.float64).index_add_(0, bins, surplus)
    return float(total.abs().sum()) / max(y.numel(), 1)


def auc(scores: Tensor, positive: Tensor) -> float | None:
    """Return the chance that a positive node scores above a negative one; ties count half.

    None when one of the two kinds is absent.

    Example:
        >>> auc(torch.tensor([0.1, 0.4, 0.4]), torch.tensor([False, True, False]))
        0.75
    """
    num_positive = int(positive.sum())
    num_negative = positive.numel() - num_positive
    if not num_positive or not num_negative:
        return None
    _, group, size = torch.unique(scores, return_inverse=True, return_counts=True)
    # the mean rank of each group of equals, counted from one
    rank = size.cumsum(0).double() - (size.double() - 1) / 2
    above = float(rank[group[positive]].sum()) - num_positive * (num_positive + 1) / 2
    return above / (num_positive * num_negative)


def average_precision(scores: Tensor, positive: Tensor) -> float | None:
    r"""Return the area under the curve of precision over recall, as a sum over thresholds.

    .. math::
        \sum_t (\mathrm{recall}_t - \mathrm{recall}_{t-1}) \, \mathrm{precision}_t

    Thresholds are the different scores, from the highest on. None without positive nodes.

    Example:
        >>> average_precision(torch.tensor([0.9, 0.4, 0.1]), torch.tensor([True, False, True]))
        0.8333333333333333
    """
    num_positive = int(positive.sum())
    if not num_positive:
        return None
    _, group, size = torch.unique(scores, return_inverse=True, return_counts=True)
    hits = torch.bincount(group[positive], minlength=size.numel()).flip(0).double()
    precision = hits.cumsum(0) / size.flip(0).cumsum(0)
    return float((hits * precision).sum()) / num_positive


def class_auc(logits: Tensor, y: Tensor) -> float | None:
    """Return the area under the ROC curve of ``logits`` ``[b, C]`` against labels ``[b]``.

    With two classes it is that of the second one, which is also that of the first; with more, the
    mean over the classes that occur in ``y``, each against the rest by its probability. None
    unless two classes occur.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
        >>> class_auc(logits, torch.tensor([0, 1, 1]))
        0.875
    """
    return _over_classes(auc, logits, y)


def class_average_precision(logits: Tensor, y: Tensor) -> float | None:
    """Return the average precision of ``logits`` ``[b, C]`` against labels ``[b]``.

    With two classes it is that of the second one, class 1, and None if that doesn't occur; with
    more, the mean over the classes that occur in ``y``, each against the rest by its probability.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
        >>> class_average_precision(logits, torch.tensor([0, 1, 1]))
        1.0
    """
    return _over_classes(average_precision, logits, y)


def class_weights(y: Tensor, num_classes: int) -> Tensor:
    """Return weights inverse to class frequency, with mean one over the nodes."""
    count = torch.bincount(y, minlength=num_classes).clamp(min=1)
    weight = 1.0 / count.float()
    return weight * (y.numel() / weight[y].sum())


def _over_classes(
    measure: Callable[[Tensor, Tensor], float | None], logits: Tensor, y: Tensor
) -> float | None:
    logits = logits.double()
    known = []
    for number in [1] if logits.size(1) == 2 else torch.unique(y).tolist():
        rest = logits.clone()
        rest[:, number] = float("-inf")
        # log-odds have the order of the probabilities, of which several may round to one
        value = measure(logits[:, number] - rest.logsumexp(dim=1), y == number)
        if value is not None:
            known.append(value)
    return sum(known) / len(known) if known else None


def _mean_known(values: list[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)
