"""Who attends to whom in Exphormer: the graph's edges, a random expander, virtual nodes."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from herofilter.baselines.adjacency import adjacency
from herofilter.baselines.edge_attention import Edges
from herofilter.baselines.graph_cache import cached_on_graph
from herofilter.errors import ConfigError

KINDS = ("edge", "expander", "from virtual", "to virtual")
_SEED = 0


def expander(num_nodes: int, degree: int = 6) -> Tensor:
    r"""Return the edges of a random regular graph, the union of random Hamiltonian cycles.

    Such a graph is connected, and nearly always close to the largest spectral gap that a regular
    graph can have, :math:`d - 2\sqrt{d - 1}` (Friedman's theorem). A pair that several cycles
    share is listed as often. With no more than ``degree + 1`` nodes it is the complete graph.
    The same size gives the same graph.

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
    """All edges of attention, between n nodes and the virtual ones, which come after them.

    Args:
        kinds: the edges of each of :data:`KINDS` by themselves.
        whole: all of them together; a pair that several kinds name is there as often.
        place: ``[E]``, where each edge of the whole stands in the kinds one after the other.
    """

    kinds: tuple[Edges, ...]
    whole: Edges
    place: Tensor


def interaction(data: Data, degree: int, tokens: int) -> Interaction:
    """Return the edges of attention of a graph with ``tokens`` virtual nodes, remembered."""
    return cached_on_graph(
        data, ("interaction", degree, tokens), lambda: _join(data, degree, tokens)
    )


def _join(data: Data, degree: int, tokens: int) -> Interaction:
    n = int(data.num_nodes or 0)
    graph = adjacency(data, loops=False).tocoo()
    virtual, node = np.tile(np.arange(n, n + tokens), n), np.repeat(np.arange(n), tokens)
    pairs = ((graph.col, graph.row), expander(n, degree).numpy(), (virtual, node), (node, virtual))
    kinds = tuple(_edges(source, target, n + tokens)[0] for source, target in pairs)
    source, target = (
        torch.cat([getattr(kind, name) for kind in kinds]).numpy() for name in ("source", "target")
    )
    whole, order = _edges(source, target, n + tokens)
    return Interaction(kinds, whole, torch.from_numpy(order))


def _edges(
    source: NDArray[np.int64], target: NDArray[np.int64], num_nodes: int
) -> tuple[Edges, NDArray[np.int64]]:
    order = np.argsort(target, kind="stable")
    start = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(target, minlength=num_nodes), out=start[1:])
    # by its rows, so that SciPy doesn't add up what stands there twice
    rows = (np.ones(order.size, dtype=np.float32), source[order], start)
    return Edges.of(sp.csr_array(rows, shape=(num_nodes, num_nodes))), order
