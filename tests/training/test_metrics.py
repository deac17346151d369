import math

import pytest
import torch

from herofilter.training.metrics import class_weights, score


def test_score_by_hand() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    found = score(logits, torch.tensor([0, 1, 1]))
    assert found.accuracy == pytest.approx(2 / 3)
    losses = [math.log1p(math.exp(-2)), math.log1p(math.exp(-1)), math.log1p(math.exp(3))]
    assert found.loss == pytest.approx(sum(losses) / 3, rel=1e-5)


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
