"""Averages of models, chosen on validation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from herofilter.training.metrics import Score, score

MOST_PICKS = 10


def select_ensemble(candidates: Sequence[Tensor], y: Tensor) -> list[int]:
    """Choose whose probabilities to average: greedily, with replacement, by accuracy on ``y``.

    Starts from the best candidate and adds the one that improves the mean most (accuracy, ties
    by loss) until none does or ten are chosen (Caruana et al., ICML 2004).

    Args:
        candidates: per candidate its probabilities ``[b, C]`` on validation nodes.
        y: their labels ``[b]``.

    Returns:
        The indices of the chosen candidates in the order of choice, with repeats.

    Example:
        >>> sure, wrong = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.2, 0.8]])
        >>> select_ensemble([wrong, sure], torch.tensor([0]))
        [1]
    """
    chosen: list[int] = []
    best = (float("-inf"), float("-inf"))
    while len(chosen) < MOST_PICKS:
        so_far = [candidates[index] for index in chosen]
        ranks = [rank(score_mean([*so_far, more], y)) for more in candidates]
        # the first of equals
        winner = ranks.index(max(ranks))
        if ranks[winner] <= best:
            break
        best = ranks[winner]
        chosen.append(winner)
    return chosen


def rank(value: Score) -> tuple[float, float]:
    """Return what decides between two models: accuracy, then the lower loss."""
    return value.accuracy, -value.loss


def probabilities(logits: Tensor) -> Tensor:
    """Return the probabilities of logits, in double precision."""
    return torch.softmax(logits.double(), dim=1)


def score_mean(parts: Sequence[Tensor], y: Tensor) -> Score:
    """Return the score of the mean of probabilities ``[b, C]``."""
    # log-probabilities are logits of themselves
    return score(torch.stack(list(parts)).mean(0).clamp(min=1e-30).log(), y)
