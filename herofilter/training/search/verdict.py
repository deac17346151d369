"""Do the edges help? A comparison of contenders that read them with those that do not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# standard errors beyond which a difference is no chance
SURE = 2.0


@dataclass(frozen=True)
class Comparison:
    """The better of two groups of contenders, on the validation nodes.

    Args:
        points: by how much the first group's best is above the second's in the metric, times 100.
        errors: the paired difference of their log-losses, in standard errors; above 0 when the
            first is better.
    """

    points: float
    errors: float


def paired_errors(first: Tensor, second: Tensor, y: Tensor) -> float:
    """Return by how many standard errors the first log-probabilities are better than the second.

    The log-loss sees more than whether a prediction is right, so a few hundred nodes suffice to
    tell two models apart where accuracy shows nothing, as with one large class.

    Shapes:
        - first, second: log-probabilities ``[b, C]``; y: ``[b]``

    Example:
        >>> y = torch.tensor([0, 1, 0, 1])
        >>> sure, unsure = torch.tensor([[0.9, 0.1], [0.2, 0.8]]).log(), torch.full((4, 2), 0.5)
        >>> paired_errors(sure.repeat(2, 1), unsure.log(), y) > 2
        True
    """
    rows = torch.arange(y.numel())
    difference = (first[rows, y] - second[rows, y]).double()
    if y.numel() < 2:
        return 0.0
    error = float(difference.std()) / math.sqrt(y.numel())
    mean = float(difference.mean())
    return mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0


def edges_sentence(
    found: Comparison | None, metric: str, unfinished: Sequence[str], with_edges: bool
) -> str:
    """Return what can be said of the edges, which is less when contenders are unfinished.

    Args:
        found: contenders that read edges against those that do not; None if one group has nobody.
        metric: what the points are of.
        unfinished: titles of contenders whose training wasn't finished in time.
        with_edges: whether the graph has any.
    """
    if not with_edges:
        return "the graph has no edges, so every model sees single nodes"
    lacks = f" ({', '.join(unfinished)} not finished)" if unfinished else ""
    if found is None:
        return f"whether the edges help can't be said: not enough time{lacks}; raise --budget"
    amount = f"{found.points:+.1f} points of {metric} on validation"
    if found.errors > SURE:
        return f"the edges help: {amount}, beyond chance"
    if unfinished:
        return (
            f"whether the edges help can't be said: {amount} so far, but not enough time{lacks}; "
            "raise --budget"
        )
    if found.errors < -SURE:
        return f"the edges do not help on this graph: {amount}"
    return f"the edges do not help on this graph: {amount}, no more than chance"
