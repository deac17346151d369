"""Attention along edges; on the CPU in compiled loops, without a copy of the vectors per edge."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from herofilter.baselines.edge_list import Edges
from herofilter.baselines.gathered_edges import (
    gathered_dots,
    gathered_product,
    gathered_softmax,
)
from herofilter.jit import compiled


def edge_product(edges: Edges, value: Tensor, hidden: Tensor) -> Tensor:
    r"""Return for each node the sum over its incoming edges of value times the source's vector.

    .. math::
        \mathbf{y}_{v,a} = \sum_{e: u \to v} s_{e,a} \, \mathbf{h}_{u,a}

    Shapes:
        - value: ``[E, a]``, one weight per edge and head; hidden: ``[n, a, c]``
        - output: ``[n, a, c]``

    Example:
        >>> import scipy.sparse as sp
        >>> edges = Edges.of(sp.csr_array([[0.0, 1.0], [0.0, 0.0]]))
        >>> edge_product(edges, torch.tensor([[3.0]]), torch.tensor([[[1.0]], [[2.0]]])).tolist()
        [[[6.0]], [[0.0]]]
    """
    if hidden.device.type != "cpu":
        return gathered_product(edges, value, hidden)
    out: Tensor = _EdgeProduct.apply(edges, value, hidden)  # type: ignore[no-untyped-call]
    return out


def edge_dots(edges: Edges, query: Tensor, key: Tensor) -> Tensor:
    r"""Return for each edge :math:`u \to v` the dot product of v's query and u's key, by head.

    Shapes:
        - query, key: ``[n, a, c]``
        - output: ``[E, a]``
    """
    if query.device.type != "cpu":
        return gathered_dots(edges, query, key)
    out: Tensor = _EdgeDots.apply(edges, query, key)  # type: ignore[no-untyped-call]
    return out


def edge_softmax(edges: Edges, score: Tensor) -> Tensor:
    """Return the softmax of scores over the edges into each node.

    Shapes:
        - score: ``[E, a]``
        - output: ``[E, a]``
    """
    if score.device.type != "cpu":
        return gathered_softmax(edges, score)
    out: Tensor = _EdgeSoftmax.apply(edges, score)  # type: ignore[no-untyped-call]
    return out


class _EdgeProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, value: Tensor, hidden: Tensor) -> Tensor:
        value, hidden = value.contiguous(), hidden.contiguous()
        ctx.edges = edges
        ctx.save_for_backward(value, hidden)
        return _sum_in(edges, value, hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        value, hidden = ctx.saved_tensors
        upstream = upstream.contiguous()
        to_value = _dots(ctx.edges, upstream, hidden) if ctx.needs_input_grad[1] else None
        to_hidden = _sum_out(ctx.edges, value, upstream) if ctx.needs_input_grad[2] else None
        return None, to_value, to_hidden


class _EdgeDots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, query: Tensor, key: Tensor) -> Tensor:
        query, key = query.contiguous(), key.contiguous()
        ctx.edges = edges
        ctx.save_for_backward(query, key)
        return _dots(edges, query, key)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor, Tensor]:
        query, key = ctx.saved_tensors
        upstream = upstream.contiguous()
        return None, _sum_in(ctx.edges, upstream, key), _sum_out(ctx.edges, upstream, query)


class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, score: Tensor) -> Tensor:
        out = torch.empty_like(score, memory_format=torch.contiguous_format)
        _softmax(edges.crow.numpy(), score.detach().contiguous().numpy(), out.numpy())
        ctx.edges = edges
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, Tensor]:
        (out,) = ctx.saved_tensors
        back = torch.empty_like(out)
        _softmax_back(
            ctx.edges.crow.numpy(), out.numpy(), upstream.contiguous().numpy(), back.numpy()
        )
        return None, back


def _sum_in(edges: Edges, value: Tensor, hidden: Tensor) -> Tensor:
    out = hidden.new_zeros(edges.num_nodes, *hidden.shape[1:])
    _add_in(*(part.detach().numpy() for part in (edges.crow, edges.source, value, hidden, out)))
    return out


def _sum_out(edges: Edges, value: Tensor, upstream: Tensor) -> Tensor:
    out = upstream.new_zeros(edges.num_nodes, *upstream.shape[1:])
    parts = (edges.out_crow, edges.out_edge, edges.target, value, upstream, out)
    _add_out(*(part.detach().numpy() for part in parts))
    return out


def _dots(edges: Edges, query: Tensor, key: Tensor) -> Tensor:
    out = query.new_empty(edges.source.numel(), query.size(1))
    _dot_edges(*(part.detach().numpy() for part in (edges.crow, edges.source, query, key, out)))
    return out


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _add_in(crow: Any, source: Any, value: Any, hidden: Any, out: Any) -> None:
    for node in range(crow.size - 1):
        for edge in range(crow[node], crow[node + 1]):
            other = source[edge]
            for head in range(value.shape[1]):
                factor = value[edge, head]
                for channel in range(hidden.shape[2]):
                    out[node, head, channel] += factor * hidden[other, head, channel]


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _add_out(crow: Any, order: Any, target: Any, value: Any, upstream: Any, out: Any) -> None:
    for node in range(crow.size - 1):
        for position in range(crow[node], crow[node + 1]):
            edge = order[position]
            other = target[edge]
            for head in range(value.shape[1]):
                factor = value[edge, head]
                for channel in range(upstream.shape[2]):
                    out[node, head, channel] += factor * upstream[other, head, channel]


@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _dot_edges(crow: Any, source: Any, query: Any, key: Any, out: Any) -> None:
    for node in range(crow.size - 1):
        for edge in range(crow[node], crow[node + 1]):
            other = source[edge]
            for head in range(query.shape[1]):
                total = query[node, head, 0] * 0
                for channel in range(query.shape[2]):
                    total += query[node, head, channel] * key[other, head, channel]
                out[edge, head] = total


@compiled(nogil=True)
def _softmax(crow: Any, score: Any, out: Any) -> None:
    for node in range(crow.size - 1):
        first, last = crow[node], crow[node + 1]
        for head in range(score.shape[1]):
            if first == last:
                continue
            largest = score[first, head]
            for edge in range(first + 1, last):
                largest = max(largest, score[edge, head])
            total = score[first, head] * 0
            for edge in range(first, last):
                out[edge, head] = np.exp(score[edge, head] - largest)
                total += out[edge, head]
            for edge in range(first, last):
                out[edge, head] /= total


@compiled(nogil=True)
def _softmax_back(crow: Any, out: Any, upstream: Any, back: Any) -> None:
    for node in range(crow.size - 1):
        for head in range(out.shape[1]):
            dot = 0.0
            for edge in range(crow[node], crow[node + 1]):
                dot += out[edge, head] * upstream[edge, head]
            for edge in range(crow[node], crow[node + 1]):
                back[edge, head] = out[edge, head] * (upstream[edge, head] - dot)
