"""ReLU and dropout in one pass over memory, compiled."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.jit import compiled


def relu_dropout(x: Tensor, noise: Tensor, level: int) -> Tensor:
    """Return ``x`` where it is positive and its byte of ``noise`` at least ``level``, else zero.

    What is kept is scaled by 256 / (256 - level).

    Shapes:
        - x: any, float32; noise: uint8, as many elements

    Example:
        >>> relu_dropout(torch.tensor([1.0, 1.0, -1.0]), torch.tensor([9, 200, 200]).byte(), 128)
        tensor([0., 2., 0.])
    """
    kept: Tensor = _ReluDropout.apply(x, noise, level)  # type: ignore[no-untyped-call]
    return kept


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, noise: Tensor, level: int) -> Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        ctx.scale = 256 / (256 - level)
        keep(
            x.numpy().reshape(-1),
            noise.numpy().reshape(-1),
            np.uint8(level),
            np.float32(ctx.scale),
            out.numpy().reshape(-1),
        )
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        (out,) = ctx.saved_tensors
        upstream = upstream.contiguous()
        slope = torch.empty_like(upstream)
        scale_where(
            upstream.numpy().reshape(-1),
            out.numpy().reshape(-1),
            np.float32(ctx.scale),
            slope.numpy().reshape(-1),
        )
        return slope, None, None


@compiled(nogil=True)
def keep(x: Any, noise: Any, level: Any, scale: Any, out: Any) -> None:
    """Write the result of :func:`relu_dropout`, all arrays flat."""
    zero = np.float32(0)
    for i in range(x.size):
        value = scale if noise[i] >= level else zero
        out[i] = value * x[i] if x[i] > zero else zero


@compiled(nogil=True)
def scale_where(upstream: Any, out: Any, scale: Any, slope: Any) -> None:
    """Write the gradient: that of the output times the scale, where the output isn't zero."""
    zero = np.float32(0)
    for i in range(out.size):
        slope[i] = scale * upstream[i] if out[i] > zero else zero
