"""Full responses R·H of fixed relations, by sparse products alone."""

import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.data.structure import is_directed
from herofilter.patchers.fast import BACKWARDS, TWO_STEPS, FastPatcher
from herofilter.patchers.products import csr_of, product
from herofilter.spectral.adjacency import normalised_adjacency
from herofilter.threads import each

SERIES_STEPS = 4
# hidden columns that go through a product at once when nothing is learned
_COLUMNS = 32


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
        self.directed = patcher.directed == "keep" and is_directed(data)
        matrix = normalised_adjacency(
            data.edge_index,
            int(data.num_nodes or 0),
            data.get("edge_weight"),
            self_loops=patcher.self_loops,
            directed=patcher.directed,
        )
        self.forwards, self.backwards = csr_of(matrix), csr_of(sp.csr_array(matrix.T))

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
        if torch.is_grad_enabled():
            stacked = self._responses(hidden)
        else:
            # columns don't depend on one another, and few of them stay in a cache
            stacked = torch.cat(each(self._responses, torch.split(hidden, _COLUMNS, dim=1)), dim=-1)
        return stacked if nodes is None else stacked.index_select(1, nodes)

    def _responses(self, hidden: Tensor) -> Tensor:
        known: dict[tuple[bool, ...], Tensor] = {(): hidden.contiguous()}
        return torch.stack([self._relation(relation, known) for relation in self.relations])

    def _relation(self, relation: str, known: dict[tuple[bool, ...], Tensor]) -> Tensor:
        backwards = self.directed and relation in BACKWARDS
        if relation in TWO_STEPS:
            # N·Nᵀ goes back along edges first, Nᵀ·N forwards
            return self._walk((self.directed and not backwards, backwards), known)
        total = self._walk((backwards,), known)
        for count in range(2, SERIES_STEPS + 1):
            step = self._walk((backwards,) * count, known)
            total = torch.add(total, step, alpha=self.c ** (count - 1))
        # scaled so that the factors add up to one
        return total * ((1 - self.c) / (1 - self.c**SERIES_STEPS))

    def _walk(self, steps: tuple[bool, ...], known: dict[tuple[bool, ...], Tensor]) -> Tensor:
        """Return H after some steps, each forwards or backwards; relations share what they can."""
        if steps not in known:
            before = self._walk(steps[:-1], known)
            ahead, back = self.forwards, self.backwards
            if steps[-1]:
                ahead, back = back, ahead
            known[steps] = product(ahead, back, before)
        return known[steps]
