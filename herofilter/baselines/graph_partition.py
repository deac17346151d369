"""A deterministic partition of a graph into clusters that random walks seldom leave."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import adjacency, normalised
from herofilter.data.placement import on_device
from herofilter.devices import CPU

STEPS = 20


@dataclass(frozen=True)
class Partition:
    """A partition of the nodes.

    Args:
        member: ``[n]``, the cluster of each node; -1 for nodes in none.
        mean: ``[c, f]``, the mean of the features of each cluster.
    """

    member: Tensor
    mean: Tensor


def partition(data: Data, count: int) -> Partition:
    r"""Return at most ``count`` clusters.

    Seeds are the nodes of largest degree of which no two are neighbours. A lazy random walk of
    twenty steps starts from every node v, and v goes to the seed s with the largest

    .. math::
        (\tfrac12 (\mathbf{I} + \mathbf{D}^{-1} \mathbf{A}))^{20}_{vs} / d_s

    the probability of ending at s, relative to the stationary distribution. Nodes that reach no
    seed are in no cluster. The cost is linear in the graph.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3, 4, 3], [1, 2, 0, 4, 5, 5]])
        >>> edges = torch.cat([edges, edges.flip(0)], dim=1)
        >>> partition(Data(torch.zeros(7, 1), edges, num_nodes=7), 2).member.tolist()
        [0, 0, 0, 1, 1, 1, -1]
    """
    device, data = data.edge_index.device, on_device(data, CPU)
    matrix = adjacency(data, loops=False)
    degree = np.asarray(matrix.sum(axis=1)).reshape(-1)
    seeds = _seeds(matrix, degree, count)
    step = normalised(matrix, "row")
    # [n, c]
    reach = np.zeros((degree.size, seeds.size))
    reach[seeds, np.arange(seeds.size)] = 1 / degree[seeds]
    for _ in range(STEPS):
        reach = (reach + step @ reach) / 2
    member = np.full(degree.size, -1)
    inside = reach.any(axis=1)
    member[inside] = reach[inside].argmax(axis=1) if seeds.size else -1
    mean = _means(data.x, member, seeds.size)
    return Partition(torch.from_numpy(member).to(device), mean.to(device))


def rank_groups(member: Tensor, count: int, index: Tensor, score: Tensor) -> tuple[Tensor, Tensor]:
    """Return the groups that hold the largest shares of each row of scores, largest first.

    Shapes:
        - member: ``[n]``, the group of each node, below ``count``; -1 for none
        - index, score: ``[b, p]``, nodes (-1 at padding) and their scores
        - output: groups ``[b, count]``, and their shares of the sum over all groups ``[b, count]``

    Example:
        >>> member, index = torch.tensor([1, 0, 0, -1]), torch.tensor([[0, 1, 2, 3]])
        >>> rank_groups(member, 2, index, torch.tensor([[2.0, 1.0, 0.0, 9.0]]))[0].tolist()
        [[1, 0]]
    """
    group = member[index.clamp(min=0)]
    # nodes of no group go into an extra one, which is dropped
    group = torch.where((index < 0) | (group < 0), count, group)
    mass = score.new_zeros(index.size(0), count + 1).scatter_add_(1, group, score)
    mass, order = mass[:, :count].sort(dim=1, descending=True, stable=True)
    return order, mass / mass.sum(1, keepdim=True).clamp(min=1e-12)


def _seeds(matrix: sp.csr_array, degree: np.ndarray, count: int) -> np.ndarray:
    taken = degree <= 0
    seeds: list[int] = []
    for node in np.argsort(-degree, kind="stable"):
        if len(seeds) == count:
            break
        if not taken[node]:
            seeds.append(int(node))
            taken[matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]]] = True
    return np.array(seeds, dtype=np.int64)


def _means(x: Tensor, member: np.ndarray, count: int) -> Tensor:
    nodes = np.flatnonzero(member >= 0)
    group = member[nodes]
    share = 1 / np.bincount(group, minlength=count)[group]
    average = sp.csr_array((share, (group, nodes)), shape=(count, member.size))
    if x.layout == torch.sparse_csr:
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
        return torch.from_numpy(
            (average @ sp.csr_array(parts, shape=tuple(x.shape))).toarray()
        ).float()
    return torch.from_numpy(average @ x.numpy()).float()
