"""Aggregation of a mixed patch into one vector."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from herofilter.errors import check_choice
from herofilter.patchers import Slot
from herofilter.settings import AGGREGATIONS


class Aggregation(nn.Module):
    r"""Reduce the patch axis.

    - ``mean`` and ``sum``: over all positions
    - ``flatten``: all positions concatenated
    - ``ego_concat``: the first position and the sum of the others, concatenated
    - ``slot_concat``: the sums of the slots, concatenated
    - ``weighted``: :math:`\sum_q \alpha_q \odot \mathbf{P}_q` with learned
      :math:`\alpha \in \mathbb{R}^{p \times h}`, initially 1 at the first position and 0 elsewhere

    Args:
        kind: one of the six.
        slots: the named ranges of positions, covering all p of them in order.
        channels: width h of a token.

    Shapes:
        - input: ``[p, b, h]``
        - output: ``[b, out_channels]``
    """

    def __init__(self, kind: str, slots: Sequence[Slot], channels: int) -> None:
        super().__init__()
        check_choice("aggregation", kind, AGGREGATIONS)
        self.kind = kind
        patch_size = slots[-1].stop
        self.widths = [slot.stop - slot.start for slot in slots]
        factors = {"flatten": patch_size, "ego_concat": 2, "slot_concat": len(slots)}
        self.factor = factors.get(kind, 1)
        self.out_channels = self.factor * channels
        self.weight = (
            nn.Parameter(torch.empty(patch_size, 1, channels)) if kind == "weighted" else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            nn.init.zeros_(self.weight)
            nn.init.ones_(self.weight[0])

    def forward(self, tokens: Tensor) -> Tensor:
        if self.weight is not None:
            return (tokens * self.weight).sum(0)
        if self.kind == "flatten":
            # [p, b, h] -> [b, p·h]
            return tokens.transpose(0, 1).flatten(1)
        if self.kind == "slot_concat":
            parts = torch.split(tokens, self.widths)
            return torch.cat([part.sum(0) for part in parts], dim=1)
        if self.kind == "ego_concat":
            return torch.cat([tokens[0], tokens[1:].sum(0)], dim=1)
        return tokens.mean(0) if self.kind == "mean" else tokens.sum(0)

    def per_position(self, weight: Tensor) -> Tensor:
        """Return a linear map of the output as one map per position, whose results are summed.

        Shapes:
            - weight: ``[C, out_channels]``
            - output: ``[p, C, h]``
        """
        count, channels = sum(self.widths), self.out_channels // self.factor
        # [C, factor·h] -> [factor, C, h]
        parts = weight.view(len(weight), self.factor, channels).transpose(0, 1)
        if self.weight is not None:
            return parts * self.weight
        if self.kind == "flatten":
            return parts
        if self.kind in ("slot_concat", "ego_concat"):
            widths = self.widths if self.kind == "slot_concat" else [1, count - 1]
            return parts.repeat_interleave(torch.tensor(widths, device=parts.device), 0)
        return parts.repeat(count, 1, 1) / (count if self.kind == "mean" else 1)

    def extra_repr(self) -> str:
        return self.kind
