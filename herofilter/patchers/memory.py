"""The memory that each patcher takes on a graph, with its default settings."""

from torch_geometric.data import Data

from herofilter.patchers.fast import FastPatcher
from herofilter.patchers.polynomial_patcher import PolynomialPatcher
from herofilter.patchers.spectral_memory import spectral_memory


def patcher_memory(data: Data) -> dict[str, int]:
    """Return the bytes that each patcher takes at its peak on a graph, by the patcher's name.

    Example:
        >>> import torch
        >>> pair = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> sorted(patcher_memory(pair))
        ['fast', 'polynomial', 'spectral']
    """
    num_nodes, num_edges = int(data.num_nodes or 0), int(data.edge_index.size(1))
    return {
        "polynomial": PolynomialPatcher.memory(num_nodes, num_edges),
        "spectral": spectral_memory(num_nodes),
        "fast": FastPatcher().memory(num_nodes, num_edges),
    }
