"""Attention along edges by gathering and adding, for devices that have no compiled loops.

Each takes a copy of the vectors per edge; gradients are torch's own.
"""

import torch
from torch import Tensor

from herofilter.baselines.edge_list import Edges


def gathered_product(edges: Edges, value: Tensor, hidden: Tensor) -> Tensor:
    """Return what :func:`~herofilter.baselines.edge_attention.edge_product` returns."""
    # [E, a, c]
    sent = hidden.index_select(0, edges.source) * value.unsqueeze(-1)
    return hidden.new_zeros(edges.num_nodes, *hidden.shape[1:]).index_add(0, edges.target, sent)


def gathered_dots(edges: Edges, query: Tensor, key: Tensor) -> Tensor:
    """Return what :func:`~herofilter.baselines.edge_attention.edge_dots` returns."""
    return (query.index_select(0, edges.target) * key.index_select(0, edges.source)).sum(-1)


def gathered_softmax(edges: Edges, score: Tensor) -> Tensor:
    """Return what :func:`~herofilter.baselines.edge_attention.edge_softmax` returns."""
    # [E, a]
    target = edges.target.unsqueeze(1).expand_as(score)
    nothing = score.new_full((edges.num_nodes, score.size(1)), -torch.inf)
    # subtracting it doesn't change the softmax, so it has no gradient either
    largest = nothing.scatter_reduce(0, target, score.detach(), "amax")
    part = (score - largest.gather(0, target)).exp()
    total = score.new_zeros(nothing.shape).index_add(0, edges.target, part)
    return part / total.gather(0, target)
