"""Activations σ of the polynomial filters, all with σ(0) = 0 as the paper's Proposition 2 asks."""

from collections.abc import Callable

import torch
from torch import Tensor


def identity(value: Tensor) -> Tensor:
    """Return the value itself: the filter is a plain polynomial."""
    return value


def softsign(value: Tensor) -> Tensor:
    """Return x / (1 + |x|), which saturates more slowly than tanh."""
    return value / (1 + value.abs())


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "identity": identity,
    "relu": torch.relu,
    "softsign": softsign,
}
"""The σ that an adaptive or shared filter can have, by name; each is 0 at 0 and never falls."""
