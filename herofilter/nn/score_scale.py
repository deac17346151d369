"""The factor of each token in a patch, from its score."""

import torch
from torch import Tensor

from herofilter.errors import check_choice
from herofilter.patchers import Patches
from herofilter.settings import SCORE_NORMS


def normalise_scores(patches: Patches, kind: str) -> Tensor:
    """Return the factor of each token: ``[b, p]``, zero at padding.

    ``max`` divides a row by its largest absolute value and ``l1`` by the sum of these, both
    without the ego slot, whose factor is one; ``raw`` is the score itself. ``straight_through`` is
    one everywhere, with the gradient of the score.
    """
    check_choice("score_norm", kind, SCORE_NORMS)
    score = patches.score
    if kind == "raw":
        return score
    if kind == "straight_through":
        return patches.mask.to(score.dtype) + (score - score.detach())
    first = 1 if patches.slots[0].name == "ego" else 0
    others = score[:, first:]
    if others.size(1):
        size = others.abs()
        total = size.amax(1, keepdim=True) if kind == "max" else size.sum(1, keepdim=True)
        others = others / total.clamp(min=1e-12)
    return torch.cat([torch.ones_like(score[:, :first]), others], dim=1)


class ScoreScale:
    """:func:`normalise_scores` with a cache of the last patches, used without gradients.

    Args:
        kind: the normalisation, see :func:`normalise_scores`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: tuple[Patches, int, Tensor] | None = None

    def __call__(self, patches: Patches) -> Tensor:
        """Return the factor of each token: ``[b, p]``."""
        if torch.is_grad_enabled():
            return normalise_scores(patches, self.kind)
        version = patches.score._version
        if self._known is None or self._known[0] is not patches or self._known[1] != version:
            self._known = patches, version, normalise_scores(patches, self.kind)
        return self._known[2]
