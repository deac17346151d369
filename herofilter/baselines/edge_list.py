"""The edges of a graph sorted by target, for attention along them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import adjacency
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.devices import CPU


@dataclass(frozen=True)
class Edges:
    """The edges of a graph sorted by target, each pair of nodes once.

    Args:
        crow: ``[n + 1]``, the offset of the first edge into each node.
        source: ``[E]``, the source of each edge.
        target: ``[E]``, its target, in ascending order.
        weight: ``[E]``, the sum of the weights of all edges of a pair.
        out_crow: ``[n + 1]``, the offset in ``out_edge`` of the first edge out of each node.
        out_edge: ``[E]``, indices of edges, sorted by source.
    """

    crow: Tensor
    source: Tensor
    target: Tensor
    weight: Tensor
    out_crow: Tensor
    out_edge: Tensor

    @property
    def num_nodes(self) -> int:
        return self.crow.numel() - 1

    @classmethod
    def of(cls, matrix: sp.csr_array, device: torch.device = CPU) -> "Edges":
        """Return the edges of a matrix whose entry (v, u) is the edge from u to v, on a device."""
        n = matrix.shape[0]
        source = matrix.indices.astype(np.int64)
        target = np.repeat(np.arange(n), np.diff(matrix.indptr))
        out_crow = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=n), out=out_crow[1:])
        arrays = (
            matrix.indptr.astype(np.int64),
            source,
            target,
            matrix.data.astype(np.float32),
            out_crow,
            np.argsort(source, kind="stable"),
        )
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


def edges_of(data: Data, loops: bool = True) -> Edges:
    """Return the graph's edges, cached on the graph; ``loops`` as in :func:`propagation`."""
    device = data.edge_index.device
    return cached_on_graph(data, ("edges", loops), lambda: Edges.of(adjacency(data, loops), device))
