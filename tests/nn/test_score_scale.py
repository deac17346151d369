"""Factors of tokens are computed once for fixed patches, and again when the patches change."""

import torch

from herofilter.data import csbm
from herofilter.nn import score_scale
from herofilter.nn.score_scale import ScoreScale, normalise_scores
from herofilter.patchers import FastPatcher


def test_factors_of_fixed_patches_are_cached(monkeypatch) -> None:
    patches = FastPatcher(patch_size=4)(csbm(num_nodes=20, num_classes=2))
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return normalise_scores(*arguments)

    monkeypatch.setattr(score_scale, "normalise_scores", counted)
    scale = ScoreScale("l1")
    with torch.no_grad():
        first = scale(patches)
        assert scale(patches) is first
        assert len(calls) == 1
        # other patches, and scores changed in place
        some = patches.take(torch.tensor([3, 5]))
        assert scale(some).equal(first[[3, 5]])
        patches.score[:, 1] *= 3
        changed = scale(patches)
    assert changed.equal(normalise_scores(patches, "l1"))
    assert not changed.equal(first)


def test_factors_with_gradients_are_not_cached() -> None:
    patches = FastPatcher(patch_size=4)(csbm(num_nodes=20, num_classes=2))
    scale = ScoreScale("max")
    patches.score.requires_grad_()
    found = [scale(patches) for _ in range(2)]
    assert found[0] is not found[1]
    assert all(factors.requires_grad for factors in found)
