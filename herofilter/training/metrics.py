"""What is measured on a set of nodes."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class Score:
    """Accuracy and mean cross-entropy on a set of nodes."""

    accuracy: float
    loss: float


def score(logits: Tensor, y: Tensor) -> Score:
    """Return accuracy and loss of ``logits`` ``[b, C]`` against labels ``[b]``.

    Example:
        >>> score(torch.tensor([[9.0, 0.0], [9.0, 0.0]]), torch.tensor([0, 1])).accuracy
        0.5
    """
    right = int((logits.argmax(dim=1) == y).sum())
    return Score(right / max(y.numel(), 1), float(cross_entropy(logits, y)))


def class_weights(y: Tensor, num_classes: int) -> Tensor:
    """Return weights inverse to class frequency, with mean one over the nodes."""
    count = torch.bincount(y, minlength=num_classes).clamp(min=1)
    weight = 1.0 / count.float()
    return weight * (y.numel() / weight[y].sum())
