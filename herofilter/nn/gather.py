"""Tokens of many patches, chunk by chunk, from one table of hidden vectors."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def gather_tokens(hidden: Tensor, index: Tensor, extra: int = 0) -> Tensor:
    """Return the tokens ``hidden[index]``, patch positions first, without gradients.

    Shapes:
        - hidden: ``[n, h]``; index: ``[b, p]``
        - output: ``[p + extra, b, h]``, of which the last ``extra`` positions aren't filled yet

    Example:
        >>> gather_tokens(torch.eye(3), torch.tensor([[2, 0]])).argmax(-1).tolist()
        [[2], [0]]
    """
    (count, members), channels = index.shape, hidden.size(1)
    tokens = hidden.new_empty(members + extra, count, channels)
    # [p, b, h] -> [p·b, h]: selecting rows by a vector is faster than by a matrix of indices
    rows = tokens[:members].view(-1, channels)
    torch.index_select(hidden, 0, index.t().reshape(-1), out=rows)
    return tokens


def gather_chunks(hidden: Tensor, indices: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the tokens ``hidden[index]`` of each chunk, patch positions first.

    In the backward pass all chunks add to one gradient; plain indexing would allocate one of the
    size of ``hidden`` for each chunk. Without gradients a chunk is gathered when it is asked for,
    so that only one is in memory.

    Shapes:
        - hidden: ``[n, h]``; each index: ``[b, p]``
        - each output: ``[p, b, h]``

    Example:
        >>> next(gather_chunks(torch.eye(3), [torch.tensor([[2, 0]])])).argmax(-1).tolist()
        [[2], [0]]
    """
    if torch.is_grad_enabled() and hidden.requires_grad:
        yield from _Gather.apply(hidden, *indices)  # type: ignore[no-untyped-call]
        return
    for index in indices:
        yield gather_tokens(hidden, index)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, *indices: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*indices)
        ctx.shape = hidden.shape
        return tuple(gather_tokens(hidden, index) for index in indices)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        total = upstream[0].new_zeros(ctx.shape)
        for index, gradient in zip(ctx.saved_tensors, upstream, strict=True):
            # [p, b, h] -> [p·b, h]
            total.index_add_(0, index.t().reshape(-1), gradient.reshape(-1, ctx.shape[1]))
        return total, *[None] * len(upstream)
