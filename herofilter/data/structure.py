"""The shape of a graph: direction, self-loops, duplicates, isolated nodes."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce


@dataclass(frozen=True)
class Structure:
    """Counts that a reader of a result wants to know about its graph."""

    num_nodes: int
    num_edges: int
    num_isolated: int
    num_self_loops: int
    num_duplicates: int
    directed: bool


def graph_structure(data: Data) -> Structure:
    """Count what is peculiar about the edges of ``data``.

    Example:
        >>> edges = torch.tensor([[0, 1, 1], [1, 1, 1]])
        >>> graph_structure(Data(edge_index=edges, num_nodes=3))  # doctest: +NORMALIZE_WHITESPACE
        Structure(num_nodes=3, num_edges=3, num_isolated=1, num_self_loops=2, num_duplicates=1,
        directed=True)
    """
    edge_index, num_nodes = data.edge_index, int(data.num_nodes)
    return Structure(
        num_nodes=num_nodes,
        num_edges=int(edge_index.size(1)),
        num_isolated=count_isolated(edge_index, num_nodes),
        num_self_loops=count_self_loops(edge_index),
        num_duplicates=count_duplicates(edge_index, num_nodes),
        directed=is_directed(data),
    )


def count_isolated(edge_index: Tensor, num_nodes: int) -> int:
    """Count the nodes without an edge to or from another node."""
    touched = torch.zeros(num_nodes, dtype=torch.bool)
    touched[edge_index[:, edge_index[0] != edge_index[1]].flatten()] = True
    return num_nodes - int(touched.sum())


def count_self_loops(edge_index: Tensor) -> int:
    """Count the edges from a node to itself, duplicates included."""
    return int((edge_index[0] == edge_index[1]).sum())


def count_duplicates(edge_index: Tensor, num_nodes: int) -> int:
    """Count the edges that repeat an earlier one of the same direction."""
    return int(edge_index.size(1) - torch.unique(_keys(edge_index, num_nodes)).numel())


def is_directed(data: Data) -> bool:
    """Return whether some edge lacks its reverse, or has another weight than its reverse."""
    num_nodes = int(data.num_nodes)
    weight = data.get("edge_weight")
    if weight is None:
        forward = torch.unique(_keys(data.edge_index, num_nodes))
        return not torch.equal(forward, torch.unique(_keys(data.edge_index.flip(0), num_nodes)))
    forward_edges, forward_weight = _coalesced(data.edge_index, weight, num_nodes, "sum")
    reverse_edges, reverse_weight = _coalesced(data.edge_index.flip(0), weight, num_nodes, "sum")
    return not (
        torch.equal(forward_edges, reverse_edges) and torch.allclose(forward_weight, reverse_weight)
    )


def neighbour_pairs(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return each pair of neighbours in both orders, once and sorted, without self-loops.

    Shapes:
        - output: ``[2, m]``

    Example:
        >>> neighbour_pairs(torch.tensor([[2, 0, 1], [0, 2, 1]]), 3).tolist()
        [[0, 2], [2, 0]]
    """
    kept = edge_index[:, edge_index[0] != edge_index[1]]
    # several times faster than to coalesce, since nothing but the pairs is asked for
    keys = torch.unique(_keys(torch.cat([kept, kept.flip(0)], dim=1), num_nodes))
    return torch.stack([keys // num_nodes, keys % num_nodes])


def symmetrise(data: Data) -> Data:
    """Return a shallow copy of ``data`` with every edge in both directions, each listed once.

    Weights of duplicates are added up, then the larger of the two directions counts, as in
    :func:`herofilter.spectral.adjacency.adjacency`. Self-loops stay.
    """
    num_nodes, weight = int(data.num_nodes), data.get("edge_weight")
    result = copy.copy(data)
    result.num_nodes = num_nodes
    if weight is None:
        both = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1)
        result.edge_index = coalesce(both, num_nodes=num_nodes)
        return result
    edges, weight = _coalesced(data.edge_index, weight, num_nodes, "sum")
    both = torch.cat([edges, edges.flip(0)], dim=1)
    result.edge_index, result.edge_weight = _coalesced(both, weight.repeat(2), num_nodes, "max")
    return result


def _coalesced(
    edge_index: Tensor, weight: Tensor, num_nodes: int, reduce: str
) -> tuple[Tensor, Tensor]:
    edges, weights = coalesce(edge_index, weight, num_nodes=num_nodes, reduce=reduce)
    return edges, weights


def _keys(edge_index: Tensor, num_nodes: int) -> Tensor:
    return edge_index[0] * num_nodes + edge_index[1]
