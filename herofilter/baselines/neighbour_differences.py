"""How much a node's vector differs from those of its neighbours."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.baselines.adjacency import Propagation
from herofilter.jit import compiled
from herofilter.spectral.compressed_rows import CompressedRows


def neighbour_differences(adjacency: Propagation, hidden: Tensor, p: float = 2.0) -> Tensor:
    r"""Return for each node and channel the sum :math:`\sum_u a_{vu} |h_v - h_u|^p`.

    For p = 2 it is a sparse product, by the binomial formula; for other p a compiled loop runs over
    the edges, which doesn't copy the vectors per edge. Off the CPU they are copied.

    Args:
        adjacency: the weights :math:`a_{vu}`, not negative.
        hidden: ``[n, h]``.
        p: at least 1.

    Example:
        >>> import scipy.sparse as sp
        >>> matrix = sp.csr_array([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
        >>> adjacency = Propagation.of(matrix)
        >>> neighbour_differences(adjacency, torch.tensor([[0.0], [1.0], [3.0]])).tolist()
        [[10.0], [0.0], [4.5]]
    """
    if p != 2 and isinstance(adjacency.matrix, CompressedRows):
        return _gathered(adjacency.matrix, hidden, p)
    if p != 2:
        out: Tensor = _Differences.apply(adjacency.matrix, hidden, p)  # type: ignore[no-untyped-call]
        return out
    channels = hidden.size(1)
    # [n, 2h + 1]
    joined = torch.cat([hidden, hidden.square(), hidden.new_ones(hidden.size(0), 1)], dim=1)
    first, second, degree = torch.split(adjacency(joined), [channels, channels, 1], dim=1)
    # equal vectors may have a negative difference by rounding
    return (degree * hidden.square() - 2 * hidden * first + second).clamp(min=0)


def _gathered(matrix: CompressedRows, hidden: Tensor, p: float) -> Tensor:
    """Return the sums by gathering and adding, with torch's own gradients."""
    difference = hidden.index_select(0, matrix.row) - hidden.index_select(0, matrix.col)
    sent = difference.abs().pow(p) * matrix.value.unsqueeze(1)
    return torch.zeros_like(hidden).index_add(0, matrix.row, sent)


class _Differences(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, hidden: Tensor, p: float) -> Tensor:
        hidden = hidden.contiguous()
        ctx.matrix, ctx.p = matrix, p
        ctx.save_for_backward(hidden)
        out = torch.zeros_like(hidden)
        _add_powers(*_arrays(matrix, hidden), p, out.numpy())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor, None]:
        (hidden,) = ctx.saved_tensors
        back = torch.zeros_like(hidden)
        upstream = upstream.contiguous()
        _add_slopes(*_arrays(ctx.matrix, hidden), ctx.p, upstream.numpy(), back.numpy())
        return None, back, None


def _arrays(matrix: Tensor, hidden: Tensor) -> tuple[Any, ...]:
    parts = (matrix.crow_indices(), matrix.col_indices(), matrix.values(), hidden.detach())
    return tuple(part.numpy() for part in parts)


@compiled(nogil=True)
def _add_powers(crow: Any, col: Any, weight: Any, hidden: Any, p: float, out: Any) -> None:
    for node in range(crow.size - 1):
        for edge in range(crow[node], crow[node + 1]):
            for channel in range(hidden.shape[1]):
                gap = abs(hidden[node, channel] - hidden[col[edge], channel])
                out[node, channel] += weight[edge] * gap**p


@compiled(nogil=True)
def _add_slopes(
    crow: Any, col: Any, weight: Any, hidden: Any, p: float, upstream: Any, back: Any
) -> None:
    for node in range(crow.size - 1):
        for edge in range(crow[node], crow[node + 1]):
            other = col[edge]
            for channel in range(hidden.shape[1]):
                gap = hidden[node, channel] - hidden[other, channel]
                slope = weight[edge] * p * abs(gap) ** (p - 1) * np.sign(gap)
                back[node, channel] += upstream[node, channel] * slope
                back[other, channel] -= upstream[node, channel] * slope
