"""Random graphs with everything awkward in them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import strategies as st
from torch import Tensor

from herofilter.spectral import normalised_adjacency


@dataclass(frozen=True)
class EdgeList:
    edge_index: Tensor
    num_nodes: int
    edge_weight: Tensor | None


@st.composite
def edge_lists(draw: st.DrawFn) -> EdgeList:
    """Directed, with self-loops, duplicates, isolated nodes, and perhaps weights (some zero)."""
    num_nodes = draw(st.integers(1, 9))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=25))
    weight = st.floats(0, 8, allow_subnormal=False).map(lambda value: round(value, 2))
    weights = draw(st.none() | st.lists(weight, min_size=len(edges), max_size=len(edges)))
    return EdgeList(
        torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T,
        num_nodes,
        None if weights is None else torch.tensor(weights, dtype=torch.float64),
    )


def random_matrix(num_nodes: int, num_edges: int, seed: int = 0) -> sp.csr_array:
    """Return Ã of a random graph."""
    edges = np.random.default_rng(seed).integers(0, num_nodes, (2, num_edges))
    return normalised_adjacency(torch.from_numpy(edges), num_nodes)
