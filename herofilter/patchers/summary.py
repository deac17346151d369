"""Full responses R·H of fixed relations, by sparse products alone."""

from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.data import Data

from herofilter.data.features import csr_tensor
from herofilter.patchers.fast import BACKWARDS, TWO_STEPS, FastPatcher
from herofilter.spectral.adjacency import normalised_adjacency

SERIES_STEPS = 4


class RelationSummary:
    r"""What each relation of a :class:`FastPatcher` sends to a node in all.

    A patch holds the best p nodes of a relation; the summary :math:`\mathbf{R}\mathbf{H}` holds
    a weighted sum over every one of them. ``out`` and ``in`` are the first four steps of the
    patcher's series without its zeroth term (the node itself has a token of its own), and
    ``coreference`` and ``cocitation`` are two products with the sparse matrix. Nothing of size
    n × n is made.

    Args:
        data: the graph.
        patcher: the patcher whose relations are summed up.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> summary = RelationSummary(path, FastPatcher(patch_size=2))
        >>> summary.summarise(torch.eye(4)).shape
        torch.Size([1, 4, 4])
    """

    def __init__(self, data: Data, patcher: FastPatcher) -> None:
        self.relations = patcher.relations
        self.c = patcher.c
        matrix = normalised_adjacency(
            data.edge_index,
            int(data.num_nodes or 0),
            data.get("edge_weight"),
            self_loops=patcher.self_loops,
            directed=patcher.directed,
        )
        self.forwards, self.backwards = _tensor(matrix), _tensor(sp.csr_array(matrix.T))

    @property
    def num_summaries(self) -> int:
        """The number of relations."""
        return len(self.relations)

    def summarise(self, hidden: Tensor, nodes: Tensor | None = None) -> Tensor:
        """Return each relation's response at ``nodes``.

        Shapes:
            - **hidden**: [n, h], of all nodes
            - **returns**: [number of relations, b, h]
        """
        parts = [self._relation(relation, hidden) for relation in self.relations]
        stacked = torch.stack(parts)
        return stacked if nodes is None else stacked.index_select(1, nodes)

    def _relation(self, relation: str, hidden: Tensor) -> Tensor:
        ahead, back = self.forwards, self.backwards
        if relation in BACKWARDS:
            ahead, back = back, ahead
        if relation in TWO_STEPS:
            return _product(ahead, back, _product(back, ahead, hidden))
        # Horner's rule for the sum of c^(k-1) N^k H over k = 1 … 4, scaled to add up to one
        total = _product(ahead, back, hidden)
        for _ in range(SERIES_STEPS - 1):
            total = _product(ahead, back, hidden + self.c * total)
        return total * ((1 - self.c) / (1 - self.c**SERIES_STEPS))


def _tensor(matrix: sp.csr_array) -> Tensor:
    return csr_tensor(
        torch.from_numpy(matrix.indptr).long(),
        torch.from_numpy(matrix.indices).long(),
        torch.from_numpy(matrix.data).float(),
        matrix.shape,
    )


def _product(matrix: Tensor, transposed: Tensor, hidden: Tensor) -> Tensor:
    result: Tensor = _Product.apply(matrix, transposed, hidden)  # type: ignore[no-untyped-call]
    return result


class _Product(torch.autograd.Function):
    """A sparse product whose way back uses the transposed matrix that is already there."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, hidden: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transposed @ upstream.contiguous()
