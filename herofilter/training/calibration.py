"""Calibration by temperature scaling: one temperature for all logits."""

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

COLDEST, HOTTEST = 0.05, 20.0
_HALVINGS = 60


def fit_temperature(logits: Tensor, y: Tensor) -> float:
    r"""Return the temperature T that minimises the log loss of ``logits / T`` on validation nodes.

    Where all nodes are right, the plain loss falls for ever as T goes to 0. So the targets are
    smoothed: with b nodes, each gives :math:`\epsilon = 1/(b + 1)` to all classes alike.
    The loss is convex in :math:`\beta = 1/T` (Guo et al., ICML 2017), with the slope

    .. math::
        \frac{\partial L}{\partial \beta}
        = \mathrm{mean}_v \left( \mathbb{E}_{\mathrm{softmax}(\beta \mathbf{z}_v)}[\mathbf{z}_v]
        - (1 - \epsilon)\, z_{v, y_v} - \epsilon\, \overline{\mathbf{z}_v} \right),

    so its sign says on which side T lies, and halving finds it between 0.05 and 20.

    Shapes:
        - logits: ``[b, C]``; y: ``[b]``

    Returns:
        1.0 without nodes, or when no temperature lowers the loss.

    Example:
        >>> sure = torch.tensor([[4.0, 0.0]]).repeat(4, 1)
        >>> round(fit_temperature(sure, torch.tensor([0, 0, 0, 1])), 3)  # log(0.7 / 0.3) = 4 / T
        4.721
    """
    if not y.numel():
        return 1.0
    logits = logits.double()
    doubt = 1 / (y.numel() + 1)
    aim = (1 - doubt) * logits.gather(1, y.unsqueeze(1)).squeeze(1) + doubt * logits.mean(dim=1)
    low, high = math.log(COLDEST), math.log(HOTTEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        expected = (torch.softmax(logits / math.exp(middle), dim=1) * logits).sum(dim=1)
        # too sharp where the loss still grows with β
        if float((expected - aim).mean()) > 0:
            low = middle
        else:
            high = middle
    found = math.exp((low + high) / 2)
    before, after = (
        float(cross_entropy(logits / value, y, label_smoothing=doubt)) for value in (1.0, found)
    )
    return found if after < before else 1.0
