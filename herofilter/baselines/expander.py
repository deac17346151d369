"""The interaction graph of Exphormer: the graph's edges, a random expander, virtual nodes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import adjacency
from herofilter.baselines.edge_list import Edges
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.errors import ConfigError

KINDS = ("edge", "expander", "from virtual", "to virtual")
_SEED = 0


def expander(num_nodes: int, degree: int = 6) -> Tensor:
    r"""Return the edges of a random regular graph, the union of random Hamiltonian cycles.

    Such a graph is connected, and nearly always close to the largest spectral gap that a regular
    graph can have, :math:`d - 2\sqrt{d - 1}` (Friedman's theorem). An edge that several cycles
    share is listed once for each. With no more than ``degree + 1`` nodes it is the complete graph.
    It depends on the number of nodes and the degree alone.

    Args:
        num_nodes: n.
        degree: d, even: two for each cycle.

    Shapes:
        - output: ``[2, n * degree]``, sources and targets, both directions of each edge

    Example:
        >>> source, target = expander(100, 6)
        >>> target.bincount().unique().tolist()
        [6]
    """
    if degree < 2 or degree % 2:
        raise ConfigError(f"degree must be even and at least 2 (got {degree})")
    if num_nodes <= degree + 1:
        return (~torch.eye(num_nodes, dtype=torch.bool)).nonzero().t()
    generator = torch.Generator().manual_seed(_SEED)
    cycles = [torch.randperm(num_nodes, generator=generator) for _ in range(degree // 2)]
    forth = torch.cat([torch.stack([cycle, cycle.roll(-1)]) for cycle in cycles], dim=1)
    return torch.cat([forth, forth.flip(0)], dim=1)


@dataclass(frozen=True)
class Interaction:
    """The edges of attention between n nodes and the virtual nodes, which have the last indices.

    Args:
        kinds: the edges of each of :data:`KINDS` on their own.
        union: all edges; a pair that is in several kinds is there once for each.
        position: ``[E]``, the index of each edge of the union in the concatenated kinds.
    """

    kinds: tuple[Edges, ...]
    union: Edges
    position: Tensor


def interaction(data: Data, degree: int, tokens: int) -> Interaction:
    """Return the edges of attention of a graph with ``tokens`` virtual nodes, cached."""
    return cached_on_graph(
        data, ("interaction", degree, tokens), lambda: _join(data, degree, tokens)
    )


def _join(data: Data, degree: int, tokens: int) -> Interaction:
    n = int(data.num_nodes or 0)
    graph = adjacency(data, loops=False).tocoo()
    virtual, node = np.tile(np.arange(n, n + tokens), n), np.repeat(np.arange(n), tokens)
    pairs = ((graph.col, graph.row), expander(n, degree).numpy(), (virtual, node), (node, virtual))
    device = data.edge_index.device
    kinds = tuple(_edges(source, target, n + tokens, device)[0] for source, target in pairs)
    source, target = (
        torch.cat([getattr(kind, name) for kind in kinds]).cpu().numpy()
        for name in ("source", "target")
    )
    union, order = _edges(source, target, n + tokens, device)
    return Interaction(kinds, union, torch.from_numpy(order).to(device))


def _edges(
    source: NDArray[np.int64], target: NDArray[np.int64], num_nodes: int, device: torch.device
) -> tuple[Edges, NDArray[np.int64]]:
    order = np.argsort(target, kind="stable")
    start = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(target, minlength=num_nodes), out=start[1:])
    # from compressed rows, so that SciPy doesn't sum duplicates
    rows = (np.ones(order.size, dtype=np.float32), source[order], start)
    return Edges.of(sp.csr_array(rows, shape=(num_nodes, num_nodes)), device), order
