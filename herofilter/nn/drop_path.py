"""Stochastic depth: in a training step only some nodes pass through a residual block."""

import torch
from torch import Tensor

from herofilter.devices import CPU
from herofilter.nn.dropout import Dropout


class DropPath(Dropout):
    """Chooses the nodes that pass through a residual block in a training step.

    The others skip the block (Huang et al., Deep Networks with Stochastic Depth, ECCV 2016). Their
    number is fixed, so that a step always costs the same.

    Args:
        p: the share of nodes that skip the block.

    Example:
        >>> path = DropPath(0.75)
        >>> path.generator = torch.Generator().manual_seed(0)
        >>> len(path.kept(8))
        2
    """

    def kept(self, count: int, device: torch.device = CPU) -> Tensor | None:
        """Return which of ``count`` nodes pass, in ascending order; None if all do."""
        most = max(1, round(count * (1 - self.p)))
        if not self.training or most >= count:
            return None
        order = torch.randperm(count, generator=self.generator, device=device)
        return order[:most].sort().values
