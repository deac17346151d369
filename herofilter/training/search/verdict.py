"""Do the edges help? A comparison of contenders that read them with those that do not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# standard errors beyond which a difference is no chance
SURE = 2.0
# for log-losses of one kind of model, which see far smaller differences
SURE_OF_LOSSES = 3.0


@dataclass(frozen=True)
class Comparison:
    """Contenders that read edges against those that do not, on the validation nodes.

    Args:
        points: by how much the first group's best is above the second's in the metric, times 100.
        errors: how often the first is right where the second is wrong, less the reverse, in
            standard errors.
        losses: by how many standard errors the log-loss of a booster is better with edges than
            without; 0 where both aren't there. The two differ in nothing but the edges, so this
            shows what accuracy can't, as with one large class.
    """

    points: float
    errors: float
    losses: float = 0.0

    @property
    def helps(self) -> bool:
        """Whether the edges help, beyond chance."""
        return self.errors > SURE or (self.points > 0 and self.losses > SURE_OF_LOSSES)


def paired_hits(first: Tensor, second: Tensor, y: Tensor) -> float:
    """Return by how many standard errors the first predictions are more often right.

    Shapes:
        - first, second: logits ``[b, C]``; y: ``[b]``

    Example:
        >>> y = torch.tensor([0, 1] * 8)
        >>> right = torch.eye(2)[y]
        >>> paired_hits(right, right, y), paired_hits(right, right.flip(1), y)
        (0.0, inf)
    """
    right = [(logits.argmax(1) == y).double() for logits in (first, second)]
    return _in_errors(right[0] - right[1])


def first_within_error(entries: Sequence[Tensor], kept: Tensor, y: Tensor) -> int | None:
    """Return the first predictions that are within one standard error of those that were kept.

    The error is that of the difference of hits on the same nodes, as in the one-standard-error
    rule of classification trees. None if there are none.

    Shapes:
        - entries, kept: logits ``[b, C]``, entries from the simple to the complex; y: ``[b]``

    Example:
        >>> y = torch.tensor([0, 1] * 8)
        >>> right, wrong = torch.eye(2)[y], torch.eye(2)[1 - y]
        >>> once = torch.cat([wrong[:1], right[1:]])
        >>> first_within_error([wrong, once, right], right, y)
        1
    """
    # a single node more is exactly one error, but for rounding
    bound = 1 + 1e-9
    close = (number for number, one in enumerate(entries) if paired_hits(kept, one, y) <= bound)
    return next(close, None)


def paired_errors(first: Tensor, second: Tensor, y: Tensor) -> float:
    """Return by how many standard errors the first log-probabilities are better than the second.

    Shapes:
        - first, second: log-probabilities ``[b, C]``; y: ``[b]``

    Example:
        >>> y = torch.tensor([0, 1, 0, 1])
        >>> sure, unsure = torch.tensor([[0.9, 0.1], [0.2, 0.8]]).log(), torch.full((4, 2), 0.5)
        >>> paired_errors(sure.repeat(2, 1), unsure.log(), y) > 2
        True
    """
    rows = torch.arange(y.numel())
    return _in_errors((first[rows, y] - second[rows, y]).double())


def _in_errors(difference: Tensor) -> float:
    """Return the mean of a difference in its standard errors."""
    count = difference.numel()
    if count < 2:
        return 0.0
    error, mean = float(difference.std()) / math.sqrt(count), float(difference.mean())
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
    if found.helps:
        return f"the edges help: {amount}, beyond chance"
    if unfinished:
        return (
            f"whether the edges help can't be said: {amount} so far, but not enough time{lacks}; "
            "raise --budget"
        )
    if found.errors < -SURE:
        return f"the edges do not help on this graph: {amount}"
    return f"the edges do not help on this graph: {amount}, no more than chance"
