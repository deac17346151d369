"""Clusters of nodes that walks stay within: a partition that is cheap and draws nothing."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import adjacency, normalised

STEPS = 20


def clusters(data: Data, count: int) -> Tensor:
    r"""Return the cluster of each node, from 0 to at most ``count`` - 1; -1 for nodes in none.

    Seeds are the nodes of largest degree of which no two are neighbours. A lazy random walk of
    twenty steps starts from every node v, and v goes to the seed s with the largest

    .. math::
        (\tfrac12 (\mathbf{I} + \mathbf{D}^{-1} \mathbf{A}))^{20}_{vs} / d_s

    the chance to be at s relative to a walk that has forgotten where it began. Nodes that reach
    no seed are in no cluster. The cost is linear in the graph.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3, 4, 3], [1, 2, 0, 4, 5, 5]])
        >>> clusters(Data(edge_index=torch.cat([edges, edges.flip(0)], 1), num_nodes=7), 2).tolist()
        [0, 0, 0, 1, 1, 1, -1]
    """
    matrix = adjacency(data, loops=False)
    degree = np.asarray(matrix.sum(axis=1)).reshape(-1)
    seeds = _seeds(matrix, degree, count)
    step = normalised(matrix, "row")
    # [n, s]
    reach = np.zeros((degree.size, seeds.size))
    reach[seeds, np.arange(seeds.size)] = 1 / degree[seeds]
    for _ in range(STEPS):
        reach = (reach + step @ reach) / 2
    if not seeds.size:
        return torch.full((degree.size,), -1)
    found = np.where(reach.max(axis=1) > 0, reach.argmax(axis=1), -1)
    return torch.from_numpy(found)


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
